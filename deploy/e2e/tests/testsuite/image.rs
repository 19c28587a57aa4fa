//! The image of the operator, as `make image` makes it for every platform.

use std::env::consts::ARCH;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use seaworthy_e2e::{Run, oci, run_to_end, where_supported};

/// The user of the Deployment.
const USER: &str = "65532:65532";

#[test]
fn the_image_has_programs_for_every_platform_and_nothing_else() -> Result<()> {
    where_supported(|| {
        let run = Run::begin()?;
        let platforms = oci::operator()?.unpack(&run.state().join("image"))?;
        ensure!(platforms.keys().eq(["amd64", "arm64"]), "{:?}: run `make image`", platforms.keys());
        for (architecture, image) in &platforms {
            ensure!(image.config["config"]["User"] == USER, "{}", image.config);
            let names = fs::read_dir(&image.root)?
                .map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default()));
            let mut names = names.collect::<Result<Vec<String>>>()?;
            names.sort();
            ensure!(
                names == ["seaworthy-host-amd64", "seaworthy-host-arm64", "seaworthy-operator"],
                "{names:?}"
            );
            let operator =
                image.config["config"]["Entrypoint"][0].as_str().context("the image runs a program")?;
            ensure!(operator == "/seaworthy-operator", "{operator}");
            for (program, name) in [
                (operator.trim_start_matches('/'), "seaworthy-operator"),
                (&*format!("seaworthy-host-{architecture}"), "seaworthy-host"),
            ] {
                let said = run_to_end(emulated(architecture).arg(image.root.join(program)).arg("--version"))?;
                ensure!(said.trim() == format!("{name} {}", env!("CARGO_PKG_VERSION")), "{program}: {said}");
            }
        }
        Ok(())
    })
}

/// Runs a static program of another architecture, and one of this machine as it is.
fn emulated(architecture: &str) -> Command {
    match (architecture, ARCH) {
        ("amd64", "x86_64") | ("arm64", "aarch64") => Command::new("env"),
        ("amd64", _) => Command::new("qemu-x86_64-static"),
        _ => Command::new("qemu-aarch64-static"),
    }
}
