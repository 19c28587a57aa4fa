//! The software bill of materials: every crate that programs are made of, in CycloneDX's format.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A crate, as `cargo metadata` identifies it.
type Id<'m> = &'m str;

/// The bill of the image of this name with these programs, in CycloneDX 1.6, from the output of `cargo metadata` and the text of `Cargo.lock`. What only
/// builds or tests need is not in it. It has no time and no serial number: the same sources make the same bill.
///
/// # Errors
/// A program is no member of the workspace, or the output is not that of `cargo metadata`.
pub fn bill_of_materials(image: &str, metadata: &Value, lock: &str, programs: &[&str]) -> Result<Value> {
    let packages = packages(metadata)?;
    let edges = edges(metadata)?;
    let mut open = Vec::new();
    for program in programs {
        let is_it =
            |(_, package): &(&Id<'_>, &&Value)| package["name"] == **program && package["source"].is_null();
        let Some((id, _)) = packages.iter().find(is_it) else {
            bail!("the workspace has no member {program}");
        };
        open.push(*id);
    }
    let roots = open.clone();
    let mut used = BTreeSet::new();
    while let Some(id) = open.pop() {
        if used.insert(id) {
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    let checksums = checksums(lock);
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for id in &used {
        let package = packages.get(id).context("cargo metadata names a crate that it does not describe")?;
        let kind = if roots.contains(id) { "application" } else { "library" };
        components.push(component(package, kind, &checksums)?);
        let needs = edges.get(id).into_iter().flatten();
        let needs = needs.filter_map(|need| reference(packages.get(need)?).ok()).collect::<BTreeSet<_>>();
        dependencies.push(json!({"ref": reference(package)?, "dependsOn": needs}));
    }
    let (name, tag) = image.rsplit_once(':').unwrap_or((image, "latest"));
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {
            "type": "container", "bom-ref": "image", "name": name, "version": tag,
        }},
        "components": components,
        "dependencies": dependencies,
    }))
}

fn packages(metadata: &Value) -> Result<BTreeMap<Id<'_>, &Value>> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    Ok(packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect())
}

/// What each crate needs when it runs.
fn edges(metadata: &Value) -> Result<BTreeMap<Id<'_>, Vec<Id<'_>>>> {
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata has resolved nothing")?;
    let is_normal = |need: &&Value| {
        need["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let mut edges = BTreeMap::new();
    for node in nodes {
        let (Some(id), Some(needs)) = (node["id"].as_str(), node["deps"].as_array()) else { continue };
        let needs = needs.iter().filter(is_normal).filter_map(|need| need["pkg"].as_str()).collect();
        edges.insert(id, needs);
    }
    Ok(edges)
}

/// The checksums of `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let of = |block| Some(((quoted(block, "name")?, quoted(block, "version")?), quoted(block, "checksum")?));
    lock.split("[[package]]").filter_map(of).collect()
}

/// The text of `key = "text"`.
fn quoted<'b>(block: &'b str, key: &str) -> Option<&'b str> {
    let (_, rest) = block.split_once(&format!("\n{key} = \""))?;
    rest.split('"').next()
}

fn component(package: &Value, kind: &str, checksums: &BTreeMap<(&str, &str), &str>) -> Result<Value> {
    let reference = reference(package)?;
    let mut component = json!({
        "type": kind,
        "bom-ref": reference,
        "purl": reference,
        "name": package["name"],
        "version": package["version"],
    });
    if let Some(license) = package["license"].as_str() {
        // Crates of old write `MIT/Apache-2.0`, which is no expression.
        component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
    }
    let key = (package["name"].as_str().unwrap_or_default(), package["version"].as_str().unwrap_or_default());
    if let Some(checksum) = checksums.get(&key) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    Ok(component)
}

/// The package URL of a crate.
fn reference(package: &Value) -> Result<String> {
    let (Some(name), Some(version)) = (package["name"].as_str(), package["version"].as_str()) else {
        bail!("cargo metadata has a crate without a name or a version");
    };
    Ok(format!("pkg:cargo/{name}@{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, license: &str, source: Option<&str>) -> Value {
        json!({"id": name, "name": name, "version": "1.2.3", "license": license, "source": source})
    }

    fn metadata() -> Value {
        let need = |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        json!({
            "packages": [
                package("program", "Apache-2.0", None),
                package("library", "MIT/Apache-2.0", Some("registry")),
                package("deeper", "MIT", Some("registry")),
                package("only-tests", "MIT", Some("registry")),
                package("other-program", "MIT", None),
            ],
            "resolve": {"nodes": [
                {"id": "program", "deps": [need("library", None), need("only-tests", Some("dev"))]},
                {"id": "library", "deps": [need("deeper", None)]},
                {"id": "deeper", "deps": []},
                {"id": "only-tests", "deps": []},
                {"id": "other-program", "deps": [need("only-tests", None)]},
            ]},
        })
    }

    const LOCK: &str = "[[package]]\nname = \"library\"\nversion = \"1.2.3\"\nchecksum = \"abc\"\n";

    #[test]
    fn a_bill_lists_what_runs_and_nothing_else() {
        let bill = bill_of_materials("example.com/image:1.0", &metadata(), LOCK, &["program"]).unwrap();
        let names = bill["components"].as_array().unwrap().iter().map(|component| &component["name"]);
        assert_eq!(names.collect::<Vec<_>>(), ["deeper", "library", "program"]);
        assert_eq!(bill["metadata"]["component"]["name"], "example.com/image");
        let library = &bill["components"][1];
        assert_eq!(library["purl"], "pkg:cargo/library@1.2.3");
        assert_eq!(library["licenses"], json!([{"expression": "MIT OR Apache-2.0"}]));
        assert_eq!(library["hashes"], json!([{"alg": "SHA-256", "content": "abc"}]));
        let needs = json!({"ref": "pkg:cargo/program@1.2.3", "dependsOn": ["pkg:cargo/library@1.2.3"]});
        assert!(bill["dependencies"].as_array().unwrap().contains(&needs), "{bill}");
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = bill_of_materials("example.com/image:1.0", &metadata(), LOCK, &["library"]).unwrap_err();
        assert!(error.to_string().contains("library"), "{error}");
    }
}
