//! Arguments, `init`, and where the config is found.

use crate::harness::Home;

#[test]
fn without_a_config_the_way_to_one_is_told() {
    let home = Home::new();
    let done = home.run(["check"]);
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.contains("`raddle init` writes one"),
        "{}",
        done.stderr
    );
    let done = home.run(["check", "-c", "other.toml"]);
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr
            .starts_with("error: other.toml: there is no such file"),
        "{}",
        done.stderr
    );
}

#[test]
fn the_nearest_config_upward_is_used() {
    let home = Home::new();
    home.write("raddle.toml", "");
    home.write("near/raddle.toml", "nonsense = 1\n");
    home.write("near/deep/er/file", "");
    let done = home.run(["check", "--cd", "near/deep/er"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .contains("near/raddle.toml:1:1: unknown key `nonsense`"),
        "{}",
        done.stderr
    );
    assert_eq!(home.run(["check"]).code, Some(0));
}

#[test]
fn init_writes_a_good_deployment_and_never_over_another() {
    let home = Home::new();
    let told = home.good(["init"]);
    assert!(told.starts_with("wrote raddle.toml\n"), "{told}");
    let written = home.read("raddle.toml");
    home.good(["check"]);
    let done = home.run(["init"]);
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.contains("there is a file already"),
        "{}",
        done.stderr
    );
    assert_eq!(home.read("raddle.toml"), written);
}

#[test]
fn init_says_what_is_in_its_way() {
    let home = Home::new();
    std::os::unix::fs::symlink("gone.toml", home.work().join("raddle.toml")).expect("a link");
    std::fs::create_dir(home.work().join("folder")).expect("a folder");
    for (arguments, told) in [
        (
            vec!["init"],
            "raddle.toml: there is a link to gone.toml, where there is nothing, already",
        ),
        (
            vec!["init", "-c", "folder"],
            "folder: there is a directory already",
        ),
    ] {
        let done = home.run(arguments);
        assert_eq!(done.code, Some(2));
        assert!(done.stderr.contains(told), "{}", done.stderr);
    }
    assert!(!home.work().join("gone.toml").exists());
}

#[test]
fn help_says_what_a_file_means_to_init() {
    let help = Home::new().good(["init", "--help"]);
    assert!(help.contains("for `init` to write"), "{help}");
}
