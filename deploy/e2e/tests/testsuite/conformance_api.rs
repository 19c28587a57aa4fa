//! The modelled API server and the real one must answer the same calls alike.

use std::time::Instant;

use anyhow::{Result, ensure};
use seaworthy_e2e::conformance::{ApiModel, ApiProxy, api_script, differences, play};
use seaworthy_e2e::{apply_crds, manifests, scenario};

#[test]
fn the_model_answers_as_the_script_says() -> Result<()> {
    play(&api_script()?, &mut ApiModel::new()).map(drop)
}

#[test]
fn the_real_api_server_answers_as_the_model_does() -> Result<()> {
    scenario(0, |world| {
        apply_crds(world)?;
        world.kubectl(["create", "namespace", manifests::NAMESPACE])?;
        let script = api_script()?;
        let start = Instant::now();
        let real = play(&script, &mut ApiProxy::start(world)?)?;
        let taken = start.elapsed();
        let model = play(&script, &mut ApiModel::new())?;
        ensure!(real.bookmarks() > 0 && model.bookmarks() > 0, "no bookmark came");
        let found = differences(&model, &real);
        ensure!(found.is_empty(), "the model differs from the real API server:\n{}", found.join("\n"));
        eprintln!("{} rules, {} steps, {taken:.1?}", script.rules.len(), script.len());
        Ok(())
    })
}
