//! The modelled host and a real one must carry out the same orders alike.

use std::time::Instant;

use anyhow::{Result, ensure};
use seaworthy_e2e::conformance::{HostModel, RealHost, host_script, play_host};
use seaworthy_e2e::scenario;

#[test]
fn the_model_does_what_the_script_says() -> Result<()> {
    play_host(&host_script()?, &mut HostModel::new()).map(drop)
}

#[test]
fn the_real_host_does_what_the_model_does() -> Result<()> {
    scenario(1, |world| {
        let script = host_script()?;
        let mut host = RealHost::prepare(world, "host-1")?;
        let start = Instant::now();
        let real = play_host(&script, &mut host)?;
        let taken = start.elapsed();
        let model = play_host(&script, &mut HostModel::new())?;
        ensure!(real == model, "the script says both: {real:?} {model:?}");
        eprintln!("{} rules, {} steps, {taken:.1?}", script.len(), real.len());
        Ok(())
    })
}
