//! What goes together.

use raddle_skill_format::{Library, Refusal, cycles, required, resolve};

use crate::{library, skill};

fn ranked(a: i32, d: i32) -> Library {
    let a = skill("a", &format!("metadata:\n  priority: {a}\n"));
    let d = skill(
        "d",
        &format!("metadata:\n  conflicts-with: a\n  priority: {d}\n"),
    );
    let other = skill("other", "");
    library(&[("a", &a), ("d", &d), ("other", &other)])
}

#[test]
fn the_higher_priority_wins_whoever_asks_first() {
    let library = ranked(1, 5);
    for wanted in [["a", "d", "other"], ["other", "d", "a"]] {
        let refusals = resolve(&library, &wanted, &[]);
        assert_eq!(refusals.len(), 1);
        assert_eq!(refusals["a"], Refusal::Outranked { by: "d".to_owned() });
    }
}

#[test]
fn equals_are_refused_both_and_the_rest_is_not() {
    let refusals = resolve(&ranked(0, 0), &["a", "other", "d"], &[]);
    assert_eq!(
        refusals["a"],
        Refusal::Undecided {
            with: "d".to_owned()
        }
    );
    assert_eq!(
        refusals["d"],
        Refusal::Undecided {
            with: "a".to_owned()
        }
    );
    assert_eq!(refusals.len(), 2);
}

#[test]
fn what_is_active_stays() {
    let refusals = resolve(&ranked(0, 9), &["d"], &["a"]);
    assert_eq!(
        refusals["d"],
        Refusal::Active {
            with: "a".to_owned()
        }
    );
}

#[test]
fn what_is_refused_wins_against_nobody() {
    let a = skill("a", "metadata:\n  priority: 2\n");
    let d = skill("d", "metadata:\n  priority: 2\n  conflicts-with: a, low\n");
    let low = skill("low", "");
    let library = library(&[("a", &a), ("d", &d), ("low", &low)]);
    let refusals = resolve(&library, &["low", "d", "a"], &[]);
    assert_eq!(refusals.keys().collect::<Vec<_>>(), ["a", "d"]);
}

#[test]
fn a_conflict_with_what_comes_along_counts() {
    let a = skill("a", "metadata:\n  requires-skills: r\n");
    let r = skill("r", "");
    let d = skill("d", "metadata:\n  conflicts-with: r\n");
    let library = library(&[("a", &a), ("r", &r), ("d", &d)]);
    assert_eq!(resolve(&library, &["a", "d"], &[]).len(), 2);
}

#[test]
fn required_skills_come_along_each_once_through_others_too() {
    let a = skill("a", "metadata:\n  requires-skills: b c\n");
    let b = skill("b", "metadata:\n  requires-skills: d\n");
    let c = skill("c", "metadata:\n  requires-skills: d a\n");
    let d = skill("d", "");
    let library = library(&[("a", &a), ("b", &b), ("c", &c), ("d", &d)]);
    let names = |name| -> Vec<&str> {
        required(&library, name)
            .iter()
            .map(|s| s.manifest.name.as_str())
            .collect()
    };
    assert_eq!(names("a"), ["a", "b", "c", "d"]);
    assert_eq!(names("d"), ["d"]);
    assert!(names("ghost").is_empty());
    assert_eq!(cycles(&library), [["a", "c"]]);
}
