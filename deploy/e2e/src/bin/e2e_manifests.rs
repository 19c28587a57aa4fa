//! Generates the plain manifests from the Helm chart.

fn main() -> anyhow::Result<()> {
    seaworthy_e2e::chart::write_manifests()
}
