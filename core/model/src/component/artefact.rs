//! Artefacts: where the files of a release come from, for which processor, and in which format.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Where the files of a release come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    /// The processor architecture that it runs on.
    pub architecture: Architecture,
    /// `http://` or `https://`.
    pub url: String,
    /// The digest of the file behind `url`.
    pub sha256: Digest,
    /// How the file becomes a directory.
    pub format: ArtefactFormat,
}

/// How an artefact becomes the directory of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ArtefactFormat {
    /// A gzipped tar, unpacked into the directory.
    TarGz,
    /// One executable, stored under `path` inside the directory.
    Binary {
        /// Relative path, for example `bin/runc`.
        path: String,
    },
}

/// A processor architecture, named as Go and Kubernetes name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// AArch64.
    Arm64,
    /// POWER, little endian.
    Ppc64le,
    /// RISC-V, 64 bit.
    Riscv64,
    /// z/Architecture.
    S390x,
}

impl Architecture {
    /// Every architecture.
    pub const ALL: [Self; 5] = [Self::Amd64, Self::Arm64, Self::Ppc64le, Self::Riscv64, Self::S390x];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::Ppc64le => "ppc64le",
            Self::Riscv64 => "riscv64",
            Self::S390x => "s390x",
        }
    }
}
