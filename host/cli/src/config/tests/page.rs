//! `docs/configuration.md` names every key there is, and no other.

use std::collections::{BTreeMap, BTreeSet};

use super::faults;

const PAGE: &str = include_str!("../../../../../docs/configuration.md");

/// No key, and so far from all of them that the reader answers with those it knows.
const NO_KEY: &str = "zzzzzzzzzzzzzzzzzzzz";

/// The keys of each table, by its header; the top level has none.
type Tables = BTreeMap<String, BTreeSet<String>>;

#[test]
fn the_page_names_every_key_and_no_other() {
    let mut known = Tables::new();
    explore(&[], &mut known);
    assert!(known.contains_key("[[plugins.ID.grants.workspace]]"));
    assert_eq!(on_the_page(), known);
}

/// Adds the keys of the table with the last of `headers`, and those of the tables in it.
fn explore(headers: &[String], known: &mut Tables) {
    let header = headers.last().cloned().unwrap_or_default();
    let said = faults(&format!("{}\n{NO_KEY} = 1\n", headers.join("\n")));
    let about = |what: &str| said.lines().find_map(|line| Some(line.split_once(what)?.1));
    let inside = |key: &str| match header.trim_matches(['[', ']']) {
        "" => key.to_owned(),
        outer => format!("{outer}.{key}"),
    };
    let mut go_on = |header: String| {
        let headers = [headers, &[header]].concat();
        explore(&headers, known);
    };
    // unknown key `…` in [check]: there is only `allow`
    if let Some(keys) = about(&format!("unknown key `{NO_KEY}`")) {
        let keys: BTreeSet<String> = quoted(keys).map(str::to_owned).collect();
        for key in &keys {
            go_on(format!("[{}]", inside(key)));
            go_on(format!("[[{}]]", inside(key)));
        }
        known.insert(header.clone(), keys);
    } else if about(&format!("`{NO_KEY}` in {header} must be a table")).is_some() {
        // Its keys are the deployer's to choose.
        go_on(format!("[{}]", inside("ID")));
    }
}

fn on_the_page() -> Tables {
    let mut tables = Tables::new();
    let mut header = String::new();
    for line in PAGE.lines() {
        if line.starts_with('#') {
            header = quoted(line).next().unwrap_or_default().to_owned();
        } else if line.starts_with("| `")
            && let Some(key) = quoted(line).next()
        {
            let keys = tables.entry(header.clone()).or_default();
            assert!(
                keys.insert(key.to_owned()),
                "{header} {key} stands there twice"
            );
        }
    }
    tables
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
