//! The false identities under which a workload requests certificates.

use serde::Deserialize;

/// As whom somebody asks, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Guise {
    /// A stranger, under the very name that the operator would give to a request for this key.
    StolenName,
    /// A stranger, under another name.
    WrongName,
    /// A node, for itself, but in one more group.
    ExtraGroup,
    /// A node, for another one.
    OtherNode,
    /// A node, to serve under the address of another one.
    WrongAddress,
    /// A stranger, from another signer.
    WrongSigner,
    /// A stranger who has copied somebody's request.
    Replay,
}

impl Guise {
    /// Every guise.
    pub const ALL: [Self; 7] = [
        Self::StolenName,
        Self::WrongName,
        Self::ExtraGroup,
        Self::OtherNode,
        Self::WrongAddress,
        Self::WrongSigner,
        Self::Replay,
    ];
}
