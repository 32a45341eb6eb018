//! Folders that settings name, with what people put into them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use raddle_wasm::folder::{Folder, MAX_FILES, Reason};

/// Paths, each with what is known of it.
type Paths<T> = Vec<(String, T)>;

fn read(folder: &Path) -> (Paths<String>, Paths<Reason>) {
    let folder = Folder::read(folder, &mut MAX_FILES.clone()).unwrap();
    let shown = |path: &Path| path.display().to_string();
    (
        folder
            .files
            .iter()
            .map(|(path, text)| (shown(path), text.clone()))
            .collect(),
        folder
            .left_out
            .iter()
            .map(|(path, reason)| (shown(path), *reason))
            .collect(),
    )
}

fn pair<T>(path: &str, value: T) -> (String, T) {
    (path.to_owned(), value)
}

#[test]
fn links_that_stay_inside_are_followed_and_others_are_told_of() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    fs::create_dir(outside.path().join("folder")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("real")).unwrap();
    fs::create_dir_all(at("file-link")).unwrap();
    fs::create_dir_all(at("escape")).unwrap();
    fs::write(at("real/SKILL.md"), "real").unwrap();
    symlink("../real/SKILL.md", at("file-link/SKILL.md")).unwrap();
    symlink(outside.path().join("secret"), at("escape/SKILL.md")).unwrap();
    symlink(outside.path().join("folder"), at("escape-folder")).unwrap();
    symlink("nothing", at("broken")).unwrap();
    symlink("itself", at("itself")).unwrap();
    symlink(".", at("loop")).unwrap();
    symlink("../..", at("real/up")).unwrap();
    symlink("real", at("a-second-name")).unwrap();
    let (files, left_out) = read(folder.path());
    let text = |path| pair(path, "real".to_owned());
    assert_eq!(files, [text("file-link/SKILL.md"), text("real/SKILL.md")]);
    let mut left_out = left_out;
    left_out.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        left_out,
        [
            pair("a-second-name", Reason::Again),
            pair("broken", Reason::Nowhere),
            pair("escape-folder", Reason::Outside),
            pair("escape/SKILL.md", Reason::Outside),
            pair("itself", Reason::Nowhere),
            pair("loop", Reason::Again),
            pair("real/up", Reason::Outside),
        ]
    );
}

#[test]
fn what_is_hidden_or_no_text_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".hidden"), "hidden").unwrap();
    fs::write(folder.path().join("utf16"), b"\xff\xfeh\0i\0").unwrap();
    fs::write(folder.path().join("text"), "text").unwrap();
    let (files, left_out) = read(folder.path());
    assert_eq!(files, [pair("text", "text".to_owned())]);
    assert_eq!(left_out, [pair("utf16", Reason::NotText)]);
}

#[test]
fn a_folder_that_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("large"), "x".repeat(9 << 20)).unwrap();
    let refusal = Folder::read(folder.path(), &mut MAX_FILES.clone()).unwrap_err();
    assert_eq!(refusal, "the files of the settings are over 8 MiB");
}
