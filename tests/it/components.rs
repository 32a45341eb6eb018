//! The built standard plugins.

use std::fs;

use crate::root;

/// The same bytes come from any checkout: no path of this machine is in them.
#[test]
fn components_hold_no_path_of_this_machine() {
    let home = std::env::home_dir().unwrap();
    for entry in fs::read_dir(root().join("plugins")).unwrap() {
        let plugin = entry.unwrap().file_name().into_string().unwrap();
        if plugin == "sdk" {
            continue;
        }
        let bytes = fs::read(raddle_tests::standard(&plugin)).unwrap();
        for place in [root(), &home] {
            // With its end, so that `/root` is not found in the name of a setting.
            let place = format!("{}/", place.display());
            let found = bytes
                .windows(place.len())
                .any(|window| window == place.as_bytes());
            assert!(!found, "{plugin} holds {place}");
        }
    }
}
