//! Arguments, exit codes, and where the config is found.

use crate::harness::Home;

#[test]
fn help_documents_the_exit_codes() {
    let home = Home::new();
    for command in [
        vec!["--help"],
        vec!["exec", "--help"],
        vec!["check", "--help"],
    ] {
        let help = home.good(command);
        for line in [
            "0    good",
            "1    the thing checked is bad",
            "2    used wrongly",
            "130  interrupted",
        ] {
            assert!(help.contains(line), "{help}");
        }
    }
}

#[test]
fn a_wrong_argument_is_a_usage_error() {
    let home = Home::new();
    assert_eq!(home.run(["chekc"]).code, Some(2));
    assert_eq!(home.run(["exec"]).code, Some(2));
    assert_eq!(home.run(["prompt", "--explain", "--json"]).code, Some(2));
}

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
fn a_directory_that_is_none_is_refused() {
    let home = Home::new();
    home.write("file", "");
    for directory in ["missing", "file"] {
        let done = home.run(["check", "--cd", directory]);
        assert_eq!(done.code, Some(2));
        assert!(done.stderr.contains(directory), "{}", done.stderr);
    }
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
