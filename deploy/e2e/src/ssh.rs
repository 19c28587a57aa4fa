//! SSH keys, and connections with OpenSSH, which share no code with the SSH client of the operator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::run_to_end;

/// An ed25519 key pair in OpenSSH's format.
#[derive(Clone, Debug)]
pub struct SshKey {
    private_file: PathBuf,
    private: String,
    public: String,
}

impl SshKey {
    /// Makes a key pair in `FILE` and `FILE.pub`.
    ///
    /// # Errors
    /// ssh-keygen fails.
    pub fn generate(file: &Path) -> Result<Self> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut command = Command::new("ssh-keygen");
        run_to_end(command.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(file))?;
        let public = fs::read_to_string(file.with_extension("pub"))?;
        Ok(Self {
            private_file: file.to_owned(),
            private: fs::read_to_string(file)?,
            public: public.split_whitespace().take(2).collect::<Vec<_>>().join(" "),
        })
    }

    /// The private key, as it belongs into a Secret.
    #[must_use]
    pub fn private(&self) -> &str {
        &self.private
    }

    /// The public key: `ssh-ed25519 BASE64`.
    #[must_use]
    pub fn public(&self) -> &str {
        &self.public
    }

    /// The file with the private key.
    #[must_use]
    pub fn private_file(&self) -> &Path {
        &self.private_file
    }

    /// The arguments with which OpenSSH connects to `address` as root with this key and no other, and accepts only
    /// the host keys in `known_hosts`.
    pub(crate) fn client_arguments(&self, known_hosts: &Path, address: &str) -> Vec<String> {
        let file = self.private_file.display();
        let options = [
            "BatchMode=yes".to_owned(),
            "ConnectTimeout=5".to_owned(),
            "IdentitiesOnly=yes".to_owned(),
            "StrictHostKeyChecking=yes".to_owned(),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            format!("UserKnownHostsFile={}", known_hosts.display()),
            format!("IdentityFile={file}"),
        ];
        let mut arguments = vec!["-F".to_owned(), "none".to_owned()];
        arguments.extend(options.into_iter().flat_map(|option| ["-o".to_owned(), option]));
        arguments.push(format!("root@{address}"));
        arguments
    }
}

/// Writes a `known_hosts` file for one host.
pub(crate) fn write_known_hosts(file: &Path, address: &str, key: &SshKey) -> Result<()> {
    fs::write(file, format!("{address} {}\n", key.public()))
        .with_context(|| format!("cannot write {}", file.display()))
}
