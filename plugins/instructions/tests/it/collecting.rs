//! Which files are found, in which order, and where the way up ends.

use raddle_plugin_instructions::{Instruction, Settings, collect};

use crate::tree::Disk;

fn collected(disk: &Disk, cwd: &str, settings: &Settings) -> Vec<Instruction> {
    collect(disk, &disk.path(cwd), settings).expect("everything can be read")
}

fn shown(disk: &Disk, cwd: &str) -> Vec<(String, String)> {
    let files = collected(disk, cwd, &Settings::default());
    files
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
    expected.iter().map(owned).collect()
}

fn named(names: &[&str]) -> Settings {
    Settings {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Settings::default()
    }
}

#[test]
fn from_the_root_down_and_nothing_above_it() {
    let disk = Disk::new()
        .with("AGENTS.md", "above the repository\n")
        .with_folder("repository/.git")
        .with("repository/AGENTS.md", "root\n")
        .with("repository/beside/AGENTS.md", "beside\n")
        .with("repository/a/AGENTS.md", "a\n")
        .with_folder("repository/a/b/c")
        .with("repository/a/b/c/AGENTS.md", "c\n")
        .with("repository/a/b/c/d/AGENTS.md", "below\n");
    assert_eq!(
        shown(&disk, "repository/a/b/c"),
        pairs(&[
            ("AGENTS.md", "root"),
            ("a/AGENTS.md", "a"),
            ("a/b/c/AGENTS.md", "c")
        ])
    );
    assert_eq!(shown(&disk, "repository"), pairs(&[("AGENTS.md", "root")]));
}

#[test]
fn a_work_tree_or_submodule_is_a_repository_of_its_own() {
    let disk = Disk::new()
        .with_folder("outer/.git")
        .with("outer/AGENTS.md", "outer")
        .with("outer/inner/.git", "gitdir: ../.git/modules/inner\n")
        .with("outer/inner/AGENTS.md", "inner")
        .with_folder("outer/inner/src");
    assert_eq!(
        shown(&disk, "outer/inner/src"),
        pairs(&[("AGENTS.md", "inner")])
    );
}

#[test]
fn without_a_repository_only_the_directory_itself_counts() {
    let disk = Disk::new()
        .with("AGENTS.md", "somebody's home")
        .with("project/AGENTS.md", "project")
        .with_folder("project/src");
    assert_eq!(shown(&disk, "project"), pairs(&[("AGENTS.md", "project")]));
    assert_eq!(shown(&disk, "project/src"), pairs(&[]));
}

#[test]
fn where_the_grant_ends_the_way_ends() {
    let disk = Disk::new()
        .with_folder("repository/.git")
        .with("repository/AGENTS.md", "not granted")
        .with("repository/a/AGENTS.md", "granted, but whose root is it?")
        .with("repository/a/b/AGENTS.md", "b")
        .grant("repository/a");
    assert_eq!(shown(&disk, "repository/a/b"), pairs(&[("AGENTS.md", "b")]));
    assert_eq!(disk.left_out(), [""; 0]);
}

#[test]
fn a_session_outside_the_grant_has_none_and_the_operator_is_told() {
    let disk = Disk::new()
        .with("elsewhere/AGENTS.md", "x")
        .with_folder("granted")
        .grant("granted");
    assert_eq!(shown(&disk, "elsewhere"), pairs(&[]));
    assert_eq!(
        disk.left_out(),
        ["elsewhere/AGENTS.md: outside the granted folders"]
    );
}

#[test]
fn names_of_one_folder_come_in_the_order_of_the_settings() {
    let disk = Disk::new()
        .with_folder(".git")
        .with("AGENTS.md", "agents")
        .with("CLAUDE.md", "claude")
        .with("agents.md", "another file");
    let files = collected(&disk, "", &named(&["CLAUDE.md", "MISSING.md", "AGENTS.md"]));
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["CLAUDE.md", "AGENTS.md"]);
}

#[test]
fn the_same_words_under_two_names_are_shown_once() {
    let disk = Disk::new().with_folder(".git").with("AGENTS.md", "words");
    std::os::unix::fs::symlink("AGENTS.md", disk.path("CLAUDE.md")).expect("a link");
    let files = collected(&disk, "", &named(&["AGENTS.md", "CLAUDE.md"]));
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["AGENTS.md"]);
}

#[test]
fn a_link_that_leaves_the_grant_is_no_instruction_file() {
    let disk = Disk::new()
        .with("secret.md", "outside")
        .with_folder("repository/.git")
        .grant("repository");
    std::os::unix::fs::symlink("../secret.md", disk.path("repository/AGENTS.md")).expect("a link");
    assert_eq!(shown(&disk, "repository"), pairs(&[]));
    let told = ["repository/AGENTS.md: outside the granted folders"];
    assert_eq!(disk.left_out(), told);
}

#[test]
fn folders_and_empty_files_of_that_name_are_passed_over() {
    let disk = Disk::new()
        .with_folder("repository/.git")
        .with_folder("repository/AGENTS.md")
        .with("repository/a/AGENTS.md", "\n \r\n")
        .with("repository/a/b/AGENTS.md", "b");
    assert_eq!(
        shown(&disk, "repository/a/b"),
        pairs(&[("a/b/AGENTS.md", "b")])
    );
}

#[test]
fn checkouts_of_every_kind_give_the_same_text() {
    for bytes in [
        "one\n\n two\n",
        "one\r\n\r\n two\r\n",
        "\u{feff}one\n\n two",
        "\none\n\n two\n\n",
    ] {
        let disk = Disk::new().with_folder(".git").with("AGENTS.md", bytes);
        assert_eq!(
            shown(&disk, ""),
            pairs(&[("AGENTS.md", "one\n\n two")]),
            "{bytes:?}"
        );
    }
}

#[test]
fn what_is_no_text_is_left_out_and_the_operator_is_told() {
    let disk = Disk::new()
        .with_folder(".git")
        .with("AGENTS.md", b"\xff\xfea\0".as_slice());
    assert_eq!(shown(&disk, ""), pairs(&[]));
    assert_eq!(disk.left_out(), ["AGENTS.md: it is not UTF-8 text"]);
}

#[test]
fn a_long_file_is_cut_after_a_whole_line_or_else_a_whole_character() {
    let limit = Settings {
        max_bytes: 10,
        ..Settings::default()
    };
    for (text, kept, cut) in [
        ("0123456789", "0123456789", false),
        ("0123\n5678\nx", "0123\n5678", true),
        ("0123\n567890", "0123", true),
        ("012345678\u{e9}", "012345678", true),
        ("0123\n567 \u{1f600}\n", "0123", true),
    ] {
        let disk = Disk::new().with_folder(".git").with("AGENTS.md", text);
        let files = collected(&disk, "", &limit);
        assert_eq!(
            (files[0].text.as_str(), files[0].cut),
            (kept, cut),
            "{text:?}"
        );
    }
}
