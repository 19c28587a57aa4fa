//! A run as one HTML file: no network, no other file, nothing to install.
//!
//! The sources of the page are in `simulator/cli/page/`. This module adds the data of the run, compressed and in base64
//! ([`pack`]).

mod columns;
mod document;
mod pack;
mod rollouts;
mod run;

use document::Document;

pub(super) use run::Run;

const FRAME: &str = include_str!("../../../page/page.html");
const STYLE: &str = include_str!("../../../page/page.css");
/// The order matters: each script may use those before it.
const SCRIPTS: [&str; 11] = [
    include_str!("../../../page/history.js"),
    include_str!("../../../page/words.js"),
    include_str!("../../../page/map.js"),
    include_str!("../../../page/gates.js"),
    include_str!("../../../page/ledger.js"),
    include_str!("../../../page/lanes.js"),
    include_str!("../../../page/faults.js"),
    include_str!("../../../page/head.js"),
    include_str!("../../../page/machine.js"),
    include_str!("../../../page/moment.js"),
    include_str!("../../../page/main.js"),
];

/// The page of a run.
///
/// # Errors
/// When a part of it cannot be written as JSON.
pub(super) fn render(run: &Run<'_>) -> Result<String, serde_json::Error> {
    let columns = columns::columns(run.history);
    let document = serde_json::to_vec(&Document::new(run, &columns))?;
    let packed = pack::pack(&[&document, columns.bytes()]);
    let mut page = String::with_capacity(packed.len() + 100_000);
    for part in FRAME.split_inclusive("-->") {
        let (text, slot) = part.rfind("<!--").map_or((part, ""), |at| part.split_at(at));
        page.push_str(text);
        match slot {
            "<!--title-->" => page.push_str(&escape(&run.summary.scenario)),
            "<!--style-->" => page.push_str(STYLE),
            "<!--history-->" => page.push_str(&packed),
            "<!--scripts-->" => page.extend(SCRIPTS),
            other => page.push_str(other),
        }
    }
    Ok(page)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_has_every_slot_once_and_names_no_other_file() {
        for slot in ["<!--title-->", "<!--style-->", "<!--history-->", "<!--scripts-->"] {
            assert_eq!(FRAME.matches(slot).count(), 1, "{slot}");
        }
        let sources = SCRIPTS.iter().chain([&FRAME, &STYLE]);
        for source in sources {
            for outside in ["http:", "https:", "src=", "@import", "url(", "fetch("] {
                assert!(!source.contains(outside), "the page must stand alone: {outside}");
            }
        }
        assert!(SCRIPTS.iter().all(|script| !script.contains("</script")));
    }
}
