//! `web`: pages from loopback.

use std::time::Duration;

use raddle_core::plugins::ErrorKind;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use wiremock::matchers::{header, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Bench, Grants, HttpHost, Limits};

/// The plugin with the hosts granted, each written `host:port`.
async fn web(hosts: &[String], settings: Value) -> Bench {
    let grants = Grants {
        http: hosts
            .iter()
            .map(|host| HttpHost::parse(host).unwrap())
            .collect(),
        ..Grants::default()
    };
    Bench::of("web", settings, grants, Limits::default()).await
}

async fn page(server: &MockServer, at: &str, response: ResponseTemplate) {
    Mock::given(path(at))
        .respond_with(response)
        .mount(server)
        .await;
}

/// A server that answers every connection with `start`, then with `piece` again and again, and
/// never ends.
async fn endless(start: &'static [u8], piece: &'static [u8], pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(start).await;
                while stream.write_all(piece).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_page_is_fetched_as_text() {
    let server = MockServer::start().await;
    Mock::given(path("/docs/page"))
        .and(header("accept-encoding", "identity"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(
            "<title>Docs</title><h1>Title</h1><p>See <a href='../x'>this</a>.</p><script>no</script>",
            "text/html; charset=utf-8",
        ))
        .mount(&server)
        .await;
    let host = server.address().to_string();
    let web = web(std::slice::from_ref(&host), json!({})).await;
    let text = web
        .call(
            "fetch",
            json!({ "url": format!("http://{host}/docs/page") }),
        )
        .await
        .unwrap();
    assert_eq!(
        text,
        format!(
            "URL: http://{host}/docs/page\nTitle: Docs\n\n# Title\n\nSee this (http://{host}/x).\n"
        )
    );
}

#[tokio::test]
async fn only_granted_hosts_are_reached_at_every_hop() {
    let (granted, other) = (MockServer::start().await, MockServer::start().await);
    let secret = format!("http://{}/secret", other.address());
    let redirect = ResponseTemplate::new(302).insert_header("location", secret.as_str());
    page(&granted, "/out", redirect).await;
    let inside = ResponseTemplate::new(301).insert_header("location", "/in");
    page(&granted, "/", inside).await;
    page(
        &granted,
        "/in",
        ResponseTemplate::new(200).set_body_string("here"),
    )
    .await;

    let host = granted.address().to_string();
    let web = web(std::slice::from_ref(&host), json!({})).await;
    let text = web
        .call("fetch", json!({ "url": format!("http://{host}/") }))
        .await
        .unwrap();
    assert!(text.ends_with("here\n"), "{text}");

    for url in [secret, format!("http://{host}/out")] {
        let error = web.call("fetch", json!({ "url": url })).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Denied, "{error}");
        let words = [other.address().to_string(), "grants.http.hosts".to_owned()];
        for word in words {
            assert!(error.message.contains(&word), "{error}");
        }
    }
    assert!(other.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_a_server_refuses_or_sends_as_binary_is_an_error() {
    let server = MockServer::start().await;
    let png = ResponseTemplate::new(200).set_body_raw(vec![0x89, b'P', 0], "image/png");
    page(&server, "/png", png).await;
    let host = server.address().to_string();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = closed.local_addr().unwrap().to_string();
    drop(closed);

    let web = web(&[host.clone(), nobody.clone()], json!({})).await;
    for (url, code) in [
        (format!("http://{host}/none"), "status"),
        (format!("http://{host}/png"), "not-text"),
        (format!("http://{nobody}/"), "no-connection"),
        (format!("https://{host}/"), "tls"),
    ] {
        let error = web.call("fetch", json!({ "url": url })).await.unwrap_err();
        assert_eq!(error.code, code, "{url}: {error}");
    }
}

#[tokio::test]
async fn a_server_that_takes_its_time_is_given_up() {
    let pause = Duration::from_millis(50);
    let silent = endless(b"", b"", pause).await;
    let trickle = endless(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n",
        b"x",
        pause,
    )
    .await;
    let web = web(
        &[silent.clone(), trickle.clone()],
        json!({ "timeout_seconds": 1 }),
    )
    .await;
    for host in [silent, trickle] {
        let url = format!("http://{host}/");
        let error = web.call("fetch", json!({ "url": url })).await.unwrap_err();
        assert_eq!(
            (error.kind, error.code.as_str()),
            (ErrorKind::Limit, "timeout"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_endless_page_is_cut() {
    let host = endless(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n",
        &[b'x'; 1 << 16],
        Duration::ZERO,
    )
    .await;
    let web = web(std::slice::from_ref(&host), json!({})).await;
    let text = web
        .call("fetch", json!({ "url": format!("http://{host}/") }))
        .await
        .unwrap();
    assert!(text.contains("[characters 0 to 32768 of 4194304]\n"));
    assert!(text.ends_with("[only the first 4194304 bytes of the page were fetched]\n"));
}
