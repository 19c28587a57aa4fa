//! Files that commands read and write.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seaworthy_fleet::plan::Document;
use seaworthy_fleet::world::World;
use seaworthy_fleet::{Options, ResolvedPlan, Scenario, begin};
use seaworthy_kernel::Seed;

use super::arguments::Variation;

/// A file by its name, and its text.
pub(super) fn text(path: &Path) -> Result<(String, String), String> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{file}: {error}"))?;
    Ok((file, text))
}

/// A scenario file as data, with the number of machines from the command line.
pub(super) fn varied(path: &Path, variation: Variation) -> Result<(String, Document), String> {
    let (file, mut document) = document(path)?;
    if let Some(machines) = variation.machines {
        document.set_machines(machines);
    }
    Ok((file, document))
}

/// A scenario, with the number of machines from the command line.
pub(super) fn scenario(path: &Path, variation: Variation) -> Result<Scenario, String> {
    let (file, text) = text(path)?;
    let scenario = Scenario::read(&file, &text).map_err(|error| error.to_string())?;
    match variation.machines {
        Some(machines) => scenario.with_machines(&file, machines).map_err(|error| error.to_string()),
        None => Ok(scenario),
    }
}

/// A scenario file as data.
pub(super) fn document(path: &Path) -> Result<(String, Document), String> {
    let (file, text) = text(path)?;
    if ResolvedPlan::is_plan(&text) {
        return Err(format!("{file}: this is a resolved plan; a scenario is needed here"));
    }
    let document = Document::read(&file, &text).map_err(|error| error.to_string())?;
    Ok((file, document))
}

/// Scenario files as data, also those in folders, in the order of their names.
pub(super) fn documents(paths: &[PathBuf]) -> Result<Vec<(String, Document)>, String> {
    files(paths)?.iter().map(|file| document(file)).collect()
}

/// Scenario files, also those in folders, in the order of their names.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let problem = |error: std::io::Error| format!("{}: {error}", path.display());
        for entry in std::fs::read_dir(path).map_err(problem)? {
            let file = entry.map_err(problem)?.path();
            if file.extension().is_some_and(|extension| extension == "yaml") {
                files.push(file);
            }
        }
    }
    files.sort();
    files.dedup();
    if files.is_empty() {
        return Err("there is no scenario in these folders".into());
    }
    Ok(files)
}

/// A resolved plan.
pub(super) fn plan(path: &Path) -> Result<(String, ResolvedPlan), String> {
    let (file, text) = text(path)?;
    if !ResolvedPlan::is_plan(&text) {
        return Err(format!("{file}: format: this is no resolved plan, which `sim run --plan` writes"));
    }
    let plan = ResolvedPlan::read(&file, &text).map_err(|error| error.to_string())?;
    Ok((file, plan))
}

/// A resolved plan, if the file is one. A plan has its own seed and fleet.
pub(super) fn plan_as_it_is(path: &Path, variation: Variation) -> Result<Option<ResolvedPlan>, String> {
    if !ResolvedPlan::is_plan(&text(path)?.1) {
        return Ok(None);
    }
    if variation.seed.is_some() || variation.machines.is_some() {
        return Err("--seed, --machines: a resolved plan has its own".into());
    }
    plan(path).map(|(_, plan)| Some(plan))
}

/// The initial world of a scenario or a resolved plan.
pub(super) fn world(path: &Path, variation: Variation) -> Result<World, String> {
    if let Some(plan) = plan_as_it_is(path, variation)? {
        let file = path.display().to_string();
        return plan.world(&file, Options::default()).map_err(|error| error.to_string());
    }
    let scenario = scenario(path, variation)?;
    Ok(begin(Arc::new(scenario), Options::seeded(variation.seed.map(Seed))))
}

/// Writes a plan.
pub(super) fn write(path: &Path, plan: &ResolvedPlan) -> Result<(), String> {
    std::fs::write(path, plan.to_string()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes lines of text.
pub(super) fn write_lines(path: &Path, lines: &[String]) -> Result<(), String> {
    std::fs::write(path, lines.join("\n") + "\n").map_err(|error| format!("{}: {error}", path.display()))
}
