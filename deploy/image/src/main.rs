//! Makes the image of the operator: an OCI archive, and its bill of materials beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use seaworthy_image::{Archive, File, Platform, bill_of_materials};

/// Of nobody: the same numbers as in the manifests of the Deployment.
const USER: &str = "65532:65532";

/// Makes a container image of the operator with the host programs, without a container engine.
#[derive(Parser)]
#[command(name = "seaworthy-image", version)]
struct Args {
    /// The name of the image, with its tag
    #[arg(long)]
    name: String,
    /// The commit that it is built from, for the labels of the image
    #[arg(long)]
    revision: String,
    /// A static operator: `amd64=PATH`; once for each platform of the image
    #[arg(long, required = true, value_parser = program)]
    operator: Vec<(String, PathBuf)>,
    /// A static host program: `amd64=PATH`; once for each architecture of hosts
    #[arg(long, required = true, value_parser = program)]
    host: Vec<(String, PathBuf)>,
    /// The folder for the archive and the bill of materials
    #[arg(long)]
    out: PathBuf,
}

fn program(text: &str) -> Result<(String, PathBuf), String> {
    let (architecture, path) = text.split_once('=').ok_or("write it as ARCHITECTURE=PATH")?;
    Ok((architecture.to_owned(), path.into()))
}

fn main() -> Result<()> {
    let args = Args::parse();
    let labels = BTreeMap::from(
        [
            ("title", "seaworthy-operator"),
            ("version", env!("CARGO_PKG_VERSION")),
            ("revision", args.revision.as_str()),
            ("source", env!("CARGO_PKG_REPOSITORY")),
            ("licenses", env!("CARGO_PKG_LICENSE")),
        ]
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.to_owned())),
    );
    let hosts =
        args.host.iter().map(|(architecture, path)| file(&format!("seaworthy-host-{architecture}"), path));
    let hosts = hosts.collect::<Result<Vec<_>>>()?;
    let mut archive = Archive::default();
    for (architecture, path) in &args.operator {
        let mut files = vec![file("seaworthy-operator", path)?];
        files.extend(hosts.iter().cloned());
        archive.add(&Platform {
            architecture: architecture.clone(),
            files,
            user: USER.to_owned(),
            labels: labels.clone(),
        })?;
    }
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    let (path, bill) = (args.out.join("image.tar"), args.out.join("image.cdx.json"));
    let image = archive.finish(&args.name)?;
    fs::write(&path, &image.archive).with_context(|| format!("cannot write {}", path.display()))?;
    let architectures = args.operator.iter().chain(&args.host).map(|(architecture, _)| architecture.as_str());
    let text = serde_json::to_string_pretty(&bill_of_materials(
        &args.name,
        &metadata(&architectures.collect())?,
        &fs::read_to_string("Cargo.lock").context("cannot read Cargo.lock: run it in the workspace")?,
        &["seaworthy-operator", "seaworthy-host"],
    )?)?;
    fs::write(&bill, text).with_context(|| format!("cannot write {}", bill.display()))?;
    println!("{} {}", args.name, image.digest);
    println!("{}: {:.1} MB", path.display(), image.archive.len() as f64 / 1e6);
    println!("{}", bill.display());
    Ok(())
}

/// A program in the root of the image. It must be static: there is nothing else in the image.
fn file(name: &str, path: &Path) -> Result<File> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    ensure!(content.starts_with(b"\x7fELF"), "{} is not a program for Linux", path.display());
    let loader = content.windows(8).take(1 << 16).any(|bytes| bytes == b"/lib64/l" || bytes == b"/lib/ld-");
    if loader {
        bail!("{} needs a dynamic loader, which is not in the image: link it statically", path.display());
    }
    Ok(File { path: name.to_owned(), mode: 0o755, content })
}

/// What cargo knows of the crates that are needed on any of these architectures, as Go names them.
fn metadata(architectures: &BTreeSet<&str>) -> Result<serde_json::Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--locked", "--format-version", "1"]);
    for architecture in architectures {
        let triple = match *architecture {
            "amd64" => "x86_64-unknown-linux-gnu",
            "arm64" => "aarch64-unknown-linux-gnu",
            other => bail!("{other}: programs are for amd64 or arm64"),
        };
        command.args(["--filter-platform", triple]);
    }
    let output = command.output().context("cannot run cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
