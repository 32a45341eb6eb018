//! Every dependency may be used and comes from where it should: `deny.toml` says what is allowed.

use std::collections::BTreeSet;
use std::fs;

use toml::de::DeTable;

use crate::{metadata, root};

#[test]
fn every_dependency_has_an_allowed_licence() {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let deny = DeTable::parse(&text).unwrap();
    let allowed = deny.get_ref()["licenses"].get_ref().get("allow").unwrap();
    let allowed = allowed.get_ref().as_array().unwrap().iter();
    let allowed: BTreeSet<&str> = allowed
        .map(|licence| licence.get_ref().as_str().unwrap())
        .collect();
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(
            is_allowed(licence, &allowed),
            "{name} has the licence {licence}"
        );
    }
}

#[test]
fn every_dependency_comes_from_the_registry() {
    for package in metadata()["packages"].as_array().unwrap() {
        if let Some(source) = package["source"].as_str() {
            let name = package["name"].as_str().unwrap();
            assert!(
                source.starts_with("registry+"),
                "{name} comes from {source}"
            );
        }
    }
}

/// Whether an SPDX expression can be met; `/` is an older way to write `OR`.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
    let is_met = either(&mut words, allowed);
    is_met && words.is_empty()
}

fn either(words: &mut Vec<&str>, allowed: &BTreeSet<&str>) -> bool {
    let mut is_met = both(words, allowed);
    while words.pop_if(|word| *word == "OR").is_some() {
        is_met |= both(words, allowed);
    }
    is_met
}

fn both(words: &mut Vec<&str>, allowed: &BTreeSet<&str>) -> bool {
    let mut is_met = one(words, allowed);
    while words.pop_if(|word| *word == "AND").is_some() {
        is_met &= one(words, allowed);
    }
    is_met
}

fn one(words: &mut Vec<&str>, allowed: &BTreeSet<&str>) -> bool {
    let Some(word) = words.pop() else {
        return false;
    };
    if word == "(" {
        let is_met = either(words, allowed);
        return words.pop_if(|word| *word == ")").is_some() && is_met;
    }
    match words
        .pop_if(|word| *word == "WITH")
        .and_then(|_| words.pop())
    {
        Some(exception) => allowed.contains(format!("{word} WITH {exception}").as_str()),
        None => allowed.contains(word),
    }
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = BTreeSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]);
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("MIT AND ISC", true),
        ("(GPL-3.0 OR MIT) AND ISC", true),
        ("(GPL-3.0 OR MIT) AND BSD-3-Clause", false),
        ("GPL-3.0 OR MIT AND ISC", true),
        ("MIT OR GPL-3.0 AND GPL-2.0", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("MIT WITH LLVM-exception", false),
        ("(MIT", false),
        ("MIT ISC", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}
