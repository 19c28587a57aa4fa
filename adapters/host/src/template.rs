//! Renders templates, in a process of its own that may use little memory and little time: a template of one line can ask
//! for a terabyte, and no limit inside the template language catches every way to do so.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seaworthy_api::host::frame;
use seaworthy_model::cause::{Cause, CauseKind};
use seaworthy_model::component::Recipe;
use serde::{Deserialize, Serialize};

use crate::failure::{self, Result};

/// Steps of the template engine per template. A loop over 1000 items with a line each takes about 10,000.
const FUEL: u64 = 1_000_000;
/// The longest rendered file, in bytes.
const OUTPUT_MAX: usize = 4 << 20;
/// Address space of the rendering process, in bytes.
const MEMORY_MAX: u64 = 512 << 20;
/// Processor time of the rendering process, in seconds.
const SECONDS_MAX: u64 = 10;
/// The longest answer of the rendering process, in bytes.
const ANSWER_MAX: u64 = 64 << 20;

/// What the rendering process is given.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    templates: Vec<Template>,
    context: Context,
}

/// A template.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Template {
    /// For error messages: the path of what it makes.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What templates see.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Context {
    parameters: BTreeMap<String, String>,
    machine_parameters: BTreeMap<String, String>,
    facts: BTreeMap<String, String>,
    component: String,
    version: String,
    /// The directory through which the current release of the component is reached.
    current: String,
}

impl Context {
    fn value(&self) -> Value {
        let map = |map: &BTreeMap<String, String>| {
            Value::from_pairs(map.iter().map(|(name, value)| (name.clone(), value.clone())))
        };
        Value::from_pairs([
            ("parameters", map(&self.parameters)),
            ("machineParameters", map(&self.machine_parameters)),
            ("facts", map(&self.facts)),
            ("component", Value::from(self.component.clone())),
            ("version", Value::from(self.version.clone())),
            ("current", Value::from(self.current.clone())),
        ])
    }
}

/// Renders the templates of `recipe` by running `program` with the argument `render`.
pub(crate) fn render(
    program: &Path,
    recipe: &Recipe,
    component: &str,
    current: &Path,
    templates: Vec<Template>,
) -> Result<Vec<String>> {
    if templates.is_empty() {
        return Ok(Vec::new());
    }
    let count = templates.len();
    let context = Context {
        parameters: recipe.parameters.as_ref().clone(),
        machine_parameters: recipe.machine_parameters.clone(),
        facts: recipe.facts.iter().map(|(fact, value)| (fact.name().to_owned(), value.clone())).collect(),
        component: component.to_owned(),
        version: recipe.version.clone(),
        current: current.display().to_string(),
    };
    let work = serde_json::to_vec(&Work { templates, context }).map_err(|error| failed(error.to_string()))?;
    let mut child = Command::new(program)
        .arg("render")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // All it could say there is that it was stopped, and the exit status says so too.
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failure::on("run", program, &error))?;
    // The process reads all of its input before it writes, so this cannot block both. A broken pipe shows in its
    // exit status.
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(&work);
    }
    let mut answer = Vec::new();
    if let Some(output) = child.stdout.take() {
        output
            .take(ANSWER_MAX)
            .read_to_end(&mut answer)
            .map_err(|error| failure::host(format!("cannot read what was rendered: {error}")))?;
    }
    let status = child.wait().map_err(|error| failure::on("wait for", program, &error))?;
    if !status.success() {
        return Err(failed(format!(
            "rendering took more than {SECONDS_MAX} s of processor time or {MEMORY_MAX} bytes of memory ({status})"
        )));
    }
    let rendered: std::result::Result<Vec<String>, String> =
        serde_json::from_slice(&answer).map_err(|error| failed(error.to_string()))?;
    let rendered = rendered.map_err(failed)?;
    if rendered.len() != count {
        return Err(failure::host(format!("{} of {count} templates were rendered", rendered.len())));
    }
    Ok(rendered)
}

/// The rendering process: limits itself, reads its work, writes what it rendered.
///
/// # Errors
/// When it cannot limit itself, read or write. What is wrong with a template is part of its answer.
pub fn serve(input: &mut dyn Read, output: &mut dyn Write) -> Result<()> {
    limit(Resource::As, MEMORY_MAX)?;
    limit(Resource::Cpu, SECONDS_MAX)?;
    let mut bytes = Vec::new();
    input
        .take(2 * frame::BODY_MAX as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| failure::host(format!("cannot read the templates: {error}")))?;
    let work: Work = serde_json::from_slice(&bytes).map_err(|error| failure::host(error.to_string()))?;
    let rendered: std::result::Result<Vec<String>, String> = evaluate(&work);
    let answer = serde_json::to_vec(&rendered).map_err(|error| failure::host(error.to_string()))?;
    output
        .write_all(&answer)
        .and_then(|()| output.flush())
        .map_err(|error| failure::host(format!("cannot write what was rendered: {error}")))
}

fn limit(resource: Resource, most: u64) -> Result<()> {
    let maximum = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(resource, Rlimit { current: Some(maximum), maximum: Some(maximum) })
        .map_err(|error| failure::host(format!("cannot limit the rendering process: {error}")))
}

fn evaluate(work: &Work) -> std::result::Result<Vec<String>, String> {
    let syntax =
        SyntaxConfig::builder().keep_trailing_newline(true).build().map_err(|error| error.to_string())?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    let mut rendered = Vec::new();
    for template in &work.templates {
        let output = environment
            .template_from_named_str(&template.name, &template.text)
            .and_then(|parsed| parsed.render(work.context.value()))
            .map_err(|error| error.to_string())?;
        if output.len() > OUTPUT_MAX {
            return Err(format!("{} renders to more than {OUTPUT_MAX} bytes", template.name));
        }
        rendered.push(output);
    }
    Ok(rendered)
}

fn failed(detail: impl Into<String>) -> Cause {
    Cause::new(CauseKind::TemplateFailed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(text: &str) -> std::result::Result<String, String> {
        let context = Context {
            parameters: [("port".to_owned(), "80".to_owned())].into(),
            machine_parameters: [("zone".to_owned(), "z1".to_owned())].into(),
            facts: [("ip".to_owned(), "198.18.0.1".to_owned())].into(),
            component: "webd".into(),
            version: "1.0.0".into(),
            current: "/opt/seaworthy/current/webd".into(),
        };
        let templates = vec![Template { name: "etc/webd".into(), text: text.into() }];
        evaluate(&Work { templates, context }).map(|mut rendered| rendered.remove(0))
    }

    #[test]
    fn templates_see_parameters_facts_and_their_place() {
        let text = "{{ facts.ip }}:{{ parameters.port }} {{ current }} {{ component }}-{{ version }} \
                    {{ machineParameters.zone }} <&>\n";
        assert_eq!(evaluated(text).unwrap(), "198.18.0.1:80 /opt/seaworthy/current/webd webd-1.0.0 z1 <&>\n");
    }

    #[test]
    fn whatever_is_not_given_does_not_render() {
        for (text, word) in [
            ("{{ nothing }}", "undefined"),
            ("{{ parameters.host }}", "undefined"),
            ("{{ facts.rack }}", "undefined"),
            ("{{ machineParameters.rack }}", "undefined"),
            ("{% include '/etc/passwd' %}", "unknown statement"),
            ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "fuel"),
            ("{{ parameters.port", "syntax error"),
            ("{% for a in range(90000) %}{{ '0123456789' * 10 }}{% endfor %}", "more than"),
            ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "unknown statement"),
            ("{{ '0123456789' * 1000000000 }}", "too large"),
        ] {
            let error = evaluated(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
            assert!(error.contains("etc/webd"), "{error}");
        }
    }
}
