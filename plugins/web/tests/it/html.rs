//! HTML as text.

use raddle_plugin_web::address::Address;
use raddle_plugin_web::html::{Page, to_text};

fn page(html: &str) -> Page {
    to_text(
        html,
        &Address::parse("https://site.example/docs/page").unwrap(),
    )
}

fn text(html: &str) -> String {
    page(html).text
}

#[test]
fn a_page_reads_like_a_page() {
    let page = page(
        r#"<!DOCTYPE html>
<html><head><title> A &amp; B </title>
<style>p { color: red }</style><script>if (a < b) { document.write("<p>no</p>") }</script>
</head><body>
<h1>Heading</h1>
<p>First   paragraph
with <b>bold</b> and <a href="../other?a=1&copy=2">a link</a>.</p>
<!-- <p>not this</p> -->
<ul><li>one</li><li>two<ol start="3"><li>three</li><li>four</li></ol></li></ul>
<p>After<br>a break &mdash; caf&#233; &#x1F600; &unknown;</p>
<pre><code>let x = 1;

  indented &lt;kept&gt;
</code></pre>
<blockquote><p>Quoted</p><p>twice</p></blockquote>
<table><tr><th>Name</th><th>Size</th></tr><tr><td>a</td><td>1</td></tr></table>
<img src="x.png" alt="A chart">
</body></html>"#,
    );
    assert_eq!(page.title, "A & B");
    assert_eq!(
        page.text,
        "# Heading

First paragraph with bold and a link (https://site.example/other?a=1&copy=2).

- one
- two
  3. three
  4. four

After
a break — café 😀 &unknown;

```
let x = 1;

  indented <kept>
```

> Quoted

> twice

Name | Size
a | 1

[image: A chart]"
    );
}

#[test]
fn links_that_lead_nowhere_else_are_their_text() {
    assert_eq!(text("<a href='#top'>up</a>"), "up");
    assert_eq!(text("<a>plain</a>"), "plain");
    assert_eq!(text("<a href='javascript:void(0)'>do</a>"), "do");
    assert_eq!(text("<a href='data:text/html,x'>do</a>"), "do");
    assert_eq!(
        text("<a href='https://site.example/'>https://site.example</a>"),
        "https://site.example"
    );
    assert_eq!(text("<a href='/x'></a>y"), "y");
    assert_eq!(
        text("<a href='mailto:a@b.example'>write</a>"),
        "write (mailto:a@b.example)"
    );
    assert_eq!(
        text("<a href='/1'>one<a href='/2'>two</a>"),
        "one (https://site.example/1)two (https://site.example/2)"
    );
    assert_eq!(
        text("<base href='https://other.example/dir/'><a href='x'>x</a>"),
        "x (https://other.example/dir/x)"
    );
}

#[test]
fn what_is_not_read_on_a_page_is_gone() {
    for hidden in [
        "<script>x</script>",
        "<SCRIPT type='a>b'>x</ScRiPt >",
        "<style>x</style>",
        "<svg><text>x</text><svg></svg>x</svg>",
        "<template><p>x</p></template>",
        "<iframe>x</iframe>",
        "<!-- x -- > x -->",
        "<!doctype x>",
        "<?xml x?>",
    ] {
        assert_eq!(text(&format!("a{hidden}b")), "ab", "{hidden}");
    }
}

#[test]
fn broken_html_still_gives_its_text() {
    assert_eq!(text("a < b and c > d"), "a < b and c > d");
    assert_eq!(text("<p>a<p>b"), "a\n\nb");
    assert_eq!(text("<ul><li>a<li>b"), "- a\n- b");
    assert_eq!(text("</p></div>a</ul></blockquote>b"), "a\n\nb");
    assert_eq!(text("a<"), "a<");
    assert_eq!(text("a<p"), "a");
    assert_eq!(text("a<a href"), "a");
    assert_eq!(text("a<a href='x"), "a");
    assert_eq!(text("a<a =x>b</a>"), "ab");
    assert_eq!(text("a<!--"), "a");
    assert_eq!(text("a<![CDATA[b<c]]>d"), "ab<cd");
    assert_eq!(text("a<![CDATA["), "a");
    assert_eq!(text("<script>never closed"), "");
    assert_eq!(text("<pre>a"), "```\na\n```");
    assert_eq!(text("a&"), "a&");
    assert_eq!(
        text("&#0;&#xD800;&#99999999999;&amp&ampx;"),
        "\u{FFFD}\u{FFFD}&#99999999999;&&ampx;"
    );
}

#[test]
fn no_prefix_of_a_page_breaks_anything() {
    let html = "<p class=\"é\">語 &eacute; <a href='x?a=b'>c</a><!-- d --><![CDATA[e]]><script>f</script><pre>\ng\n</pre><td>";
    for (end, _) in html.char_indices() {
        text(&html[..end]);
        text(&html[end..]);
    }
    text(&"<div>".repeat(100_000));
    text(&"<ul><li><blockquote>x".repeat(10_000));
}

#[test]
fn code_in_running_text_and_in_lists_stays_apart() {
    assert_eq!(text("use <code>a  b</code>, then"), "use `a b`, then");
    assert_eq!(
        text("<ul><li>run<pre>one\ntwo</pre></li></ul>"),
        "- run\n\n  ```\n  one\n  two\n  ```"
    );
    assert_eq!(text("<pre>a<br>b</pre>"), "```\na\nb\n```");
}
