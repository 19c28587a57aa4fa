//! What people do at a terminal: `seaworthy` with the kubeconfig of an administrator.

use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::fleet::Fleet;
use crate::programs::command_line;

impl Fleet<'_> {
    /// What the program of people prints, if it exits as expected. Everything that it says goes to `scenes.log`.
    ///
    /// # Errors
    /// It cannot be run, or exits with another code.
    pub fn seaworthy(&self, arguments: &[&str], code: i32) -> Result<String> {
        let control_plane = self.world().control_plane();
        let mut command = self.world().command(&command_line()?);
        let command = command.args(arguments).arg("--kubeconfig").arg(control_plane.kubeconfig());
        let Output { status, stdout, stderr } = command.output().context("seaworthy cannot be run")?;
        let (out, error) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        self.note(&format!("$ seaworthy {}\n{out}{error}", arguments.join(" ")))?;
        ensure!(status.code() == Some(code), "seaworthy {}: {status}: {out}{error}", arguments.join(" "));
        Ok(out.into_owned())
    }

    /// Writes an object to a file of this name, and returns the file's path.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, object: &Value) -> Result<String> {
        let file = self.world().run().state().join(name);
        std::fs::write(&file, object.to_string())?;
        file.to_str().map(str::to_owned).context("path")
    }

    /// The batches of a change of the defaults, as `seaworthy plan` tells them of what this file says.
    ///
    /// # Errors
    /// It refuses the change, or the change is none.
    pub fn planned(&self, file: &str) -> Result<Vec<Vec<String>>> {
        let told = self.seaworthy(&["plan", "-f", file, "-o", "json"], 0)?;
        let told: Value = serde_json::from_str(&told)?;
        Ok(serde_json::from_value(told[0]["batches"].clone())?)
    }
}
