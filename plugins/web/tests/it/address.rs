//! Addresses and references.

use raddle_plugin_web::address::{Address, BadAddress};

fn parsed(text: &str) -> String {
    Address::parse(text).unwrap().to_string()
}

fn refused(text: &str) -> BadAddress {
    Address::parse(text).unwrap_err()
}

#[test]
fn addresses_are_read_and_written_for_the_wire() {
    assert_eq!(parsed("http://a"), "http://a/");
    assert_eq!(
        parsed(" HTTPS://Example.COM:8443/A b?q=é#part "),
        "https://example.com:8443/A%20b?q=%C3%A9"
    );
    assert_eq!(parsed("http://a?q=1"), "http://a/?q=1");
    assert_eq!(parsed("http://[::1]:80/"), "http://[::1]:80/");
    assert_eq!(parsed("http://a/%20/../b/./c"), "http://a/b/c");
    assert_eq!(
        parsed("http://a/x?u=http://b/../c"),
        "http://a/x?u=http://b/../c"
    );
    assert_eq!(parsed("http://a/\r\nHost: b"), "http://a/%0D%0AHost:%20b");
}

#[test]
fn what_cannot_be_fetched_is_refused() {
    assert_eq!(refused("example.com/x"), BadAddress::Relative);
    assert_eq!(refused("localhost:80/x"), BadAddress::Relative);
    assert_eq!(refused("/x"), BadAddress::Relative);
    assert_eq!(refused(""), BadAddress::Relative);
    assert_eq!(
        refused("file:///etc/passwd"),
        BadAddress::Scheme("file".to_owned())
    );
    assert_eq!(
        refused("javascript:alert(1)"),
        BadAddress::Scheme("javascript".to_owned())
    );
    assert_eq!(refused("http:/a"), BadAddress::Host);
    assert_eq!(refused("http://"), BadAddress::Host);
    assert_eq!(refused("http:///x"), BadAddress::Host);
    assert_eq!(refused("http://:80/"), BadAddress::Host);
    assert_eq!(refused("http://a b/"), BadAddress::Host);
    assert_eq!(refused("http://a\\b/"), BadAddress::Host);
    assert_eq!(refused("http://bücher.example/"), BadAddress::Host);
    assert_eq!(
        refused("http://granted.example@other.example/"),
        BadAddress::Credentials
    );
}

#[test]
fn references_resolve_as_the_standard_says() {
    let base = Address::parse("http://a/b/c/d;p?q").unwrap();
    for (reference, expected) in [
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g/"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("https://g/x", "https://g/x"),
    ] {
        assert_eq!(
            base.join(reference).unwrap().to_string(),
            expected,
            "{reference}"
        );
    }
    assert!(base.join("mailto:a@b").is_err());
}
