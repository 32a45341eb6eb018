//! Several files, from several folders.

use raddle_skill_format::{Library, Severity, SkillFile};

use crate::{library, skill};

fn names(library: &Library) -> Vec<&str> {
    library
        .skills()
        .map(|skill| skill.manifest.name.as_str())
        .collect()
}

#[test]
fn one_bad_file_costs_only_itself() {
    let good = skill("good", "");
    let library = library(&[("bad", "no front matter"), ("good", &good)]);
    assert_eq!(names(&library), ["good"]);
    assert_eq!(library.refused()[0].path, "skills/bad/SKILL.md");
}

#[test]
fn a_folder_may_have_another_name() {
    let text = skill("template-skill", "");
    let library = library(&[("template", &text)]);
    assert!(library.skill("template-skill").is_some());
    assert!(library.skill("template").is_none());
    let (_, finding) = &library.findings()[0];
    assert!(
        finding.message.contains("its folder is `template`"),
        "{finding}"
    );
}

#[test]
fn identical_copies_stay_quiet() {
    let text = skill("x", "");
    let file = |root, path| SkillFile {
        root,
        path,
        text: &text,
    };
    let library = Library::read([file(1, "b/x/SKILL.md"), file(0, "a/x/SKILL.md")]);
    assert_eq!(library.skill("x").unwrap().path, "a/x/SKILL.md");
    assert_eq!(library.findings(), []);
}

#[test]
fn other_files_and_skills_inside_a_skill_are_no_skills() {
    let (outer, inner) = (skill("outer", ""), skill("inner", ""));
    let file = |path, text| SkillFile {
        root: 0,
        path,
        text,
    };
    let library = Library::read([
        file("s/outer/SKILL.md", &outer),
        file("s/outer/templates/inner/SKILL.md", &inner),
        file("s/outer/README.md", "words"),
        file("s/outer-two/deeper/SKILL.md", &inner),
    ]);
    assert_eq!(names(&library), ["inner", "outer"]);
    assert_eq!(
        library.skill("inner").unwrap().path,
        "s/outer-two/deeper/SKILL.md"
    );
}

#[test]
fn what_misses_a_requirement_is_refused_and_so_is_what_requires_it() {
    let b = skill("b", "metadata:\n  requires-skills: ghost\n");
    let a = skill("a", "metadata:\n  requires-skills: b\n");
    let library = library(&[("a", &a), ("b", &b)]);
    assert!(library.is_empty());
    let reasons: Vec<String> = library
        .refused()
        .iter()
        .map(|r| r.reason.to_string())
        .collect();
    assert_eq!(
        reasons,
        [
            "`b` requires `ghost`, which is not there",
            "`a` requires `b`, which is not there"
        ]
    );
    assert!(
        library
            .findings()
            .iter()
            .all(|(_, f)| f.severity == Severity::Refused)
    );
}
