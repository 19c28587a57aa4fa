//! The Helm chart, and the plain manifests that are generated from it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, iter};

use anyhow::{Context, Result};

use crate::parts;
use crate::process::run_to_end;

/// The namespace that it is installed in.
pub const NAMESPACE: &str = "seaworthy-system";

/// What each generated file begins with.
const NOTE: &str = "# Generated from deploy/chart by `make manifests`: change it there.\n";

/// Each generated file, with the template that it is made of. kubectl applies files in the order of their names, so the
/// namespace has to come first.
const FILES: [(&str, &str); 6] = [
    ("00-namespace.yaml", "namespace"),
    ("availability.yaml", "availability"),
    ("deployment.yaml", "deployment"),
    ("flow-control.yaml", "flow-control"),
    ("network.yaml", "network"),
    ("rbac.yaml", "rbac"),
];

/// The folder of the chart in the checkout.
#[must_use]
pub fn folder() -> PathBuf {
    parts::home().join("../chart")
}

/// The folder of the plain manifests in the checkout.
#[must_use]
pub fn manifests_folder() -> PathBuf {
    parts::home().join("../operator")
}

/// The plain manifests, by file name.
///
/// # Errors
/// Helm cannot be built, or refuses the chart.
pub fn manifests() -> Result<BTreeMap<String, String>> {
    let helm = parts::ensure_helm()?;
    let render = |(file, template): &(&str, &str)| {
        let mut command = Command::new(&helm);
        command.args(["template", "seaworthy", "--namespace", NAMESPACE, "--set", "namespace.create=true"]);
        command.arg("--show-only").arg(format!("templates/{template}.yaml")).arg(folder());
        let rendered = run_to_end(&mut command)?;
        Ok(((*file).to_owned(), tidy(&rendered)))
    };
    FILES.iter().map(render).collect()
}

/// Without what Helm says of the template of each object, and with one marker between two of them.
fn tidy(rendered: &str) -> String {
    let is_of_helm = |line: &&str| line.starts_with("# Source: ");
    let text: String =
        rendered.lines().filter(|line| !is_of_helm(line)).flat_map(|line| [line, "\n"]).collect();
    let objects = text.split("---\n").map(str::trim).filter(|object| !object.is_empty());
    iter::once(NOTE.to_owned() + &objects.collect::<Vec<_>>().join("\n---\n"))
        .chain([String::from("\n")])
        .collect()
}

/// Writes the plain manifests into the checkout, and removes files that are not generated any more.
///
/// # Errors
/// As for [`manifests`], or a file cannot be written.
pub fn write_manifests() -> Result<()> {
    let (manifests, folder) = (manifests()?, manifests_folder());
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !manifests.contains_key(&name) {
            fs::remove_file(&path)?;
        }
    }
    for (name, text) in manifests {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
