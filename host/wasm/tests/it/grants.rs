//! Which hosts a grant of `wasi:http` covers.

use raddle_wasm::grants::HttpHost;

fn covers(written: &str, host: &str, port: u16) -> bool {
    HttpHost::parse(written).unwrap().covers(host, port, 443)
}

#[test]
fn a_host_without_a_port_is_that_of_the_scheme() {
    assert!(covers("api.example.com", "api.example.com", 443));
    assert!(covers("API.example.com", "api.EXAMPLE.com", 443));
    assert!(!covers("api.example.com", "api.example.com", 8443));
    assert!(!covers("api.example.com", "example.com", 443));
    assert!(!covers("api.example.com", "xapi.example.com", 443));
    assert!(!covers("api.example.com", "api.example.com.evil.test", 443));
    assert!(!covers("api.example.com", "api.example.com.", 443));
}

#[test]
fn a_port_is_that_port() {
    assert!(covers("127.0.0.1:8080", "127.0.0.1", 8080));
    assert!(!covers("127.0.0.1:8080", "127.0.0.1", 443));
    assert!(covers("[::1]:8080", "[::1]", 8080));
    assert!(!covers("[::1]", "[::1]", 8080));
}

#[test]
fn a_wildcard_covers_what_is_below_and_not_the_domain_itself() {
    assert!(covers("*.example.com", "a.example.com", 443));
    assert!(covers("*.example.com", "b.a.example.com", 443));
    assert!(!covers("*.example.com", "example.com", 443));
    assert!(!covers("*.example.com", ".example.com", 443));
    assert!(!covers("*.example.com", "evilexample.com", 443));
    assert!(covers("*.example.com:99", "a.example.com", 99));
}

#[test]
fn what_is_no_host_is_refused() {
    for written in [
        "",
        "*",
        "*.",
        "a.*.com",
        "https://example.com",
        "example.com/path",
        "example.com:",
        "example.com:0",
        "example.com:65536",
        "example.com:http",
        "[::1",
        "[::1]x",
        "user@example.com",
        "two hosts",
    ] {
        let fault = HttpHost::parse(written).unwrap_err();
        assert_eq!(fault.written, written);
    }
}

#[test]
fn a_host_is_written_as_it_is_read() {
    for written in [
        "example.com",
        "example.com:80",
        "*.example.com",
        "[::1]:8080",
    ] {
        assert_eq!(HttpHost::parse(written).unwrap().to_string(), written);
    }
}
