//! The false identities under which a workload requests certificates.

use serde::Deserialize;

/// The false identity under which a client requests a certificate, and what it requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Guise {
    /// A stranger sends the request under the object name that the operator would give to a request for this key.
    StolenName,
    /// A stranger sends the request under another object name.
    WrongName,
    /// A node requests a certificate for itself, but in an additional group.
    ExtraGroup,
    /// A node requests the client certificate of another node.
    OtherNode,
    /// A node requests a serving certificate for the address of another node.
    WrongAddress,
    /// A node requests a serving certificate for its own address and that of another node.
    MoreAddresses,
    /// A node requests a serving certificate for its own address and the name of another node.
    OtherName,
    /// A stranger requests the certificate from another signer.
    WrongSigner,
    /// A stranger sends a copy of the request of another client.
    Replay,
    /// A node requests dozens of serving certificates for itself at once.
    Flood,
}

impl Guise {
    /// Every guise.
    pub const ALL: [Self; 10] = [
        Self::StolenName,
        Self::WrongName,
        Self::ExtraGroup,
        Self::OtherNode,
        Self::WrongAddress,
        Self::MoreAddresses,
        Self::OtherName,
        Self::WrongSigner,
        Self::Replay,
        Self::Flood,
    ];
}
