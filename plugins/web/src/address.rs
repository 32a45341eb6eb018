//! Addresses of pages: `http` and `https` URLs, and how one refers to another (RFC 3986 §5).

use std::fmt;

/// An absolute `http` or `https` URL without a fragment. Shown as it goes on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Over TLS.
    pub secure: bool,
    /// Host, and port if it is given.
    pub authority: String,
    /// From the first `/` on, never empty; nothing in it needs escaping.
    pub path_and_query: String,
}

/// Why a text is no address that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadAddress {
    /// It has no scheme.
    Relative,
    /// Its scheme is another one.
    Scheme(String),
    /// Its host is missing or has characters that no host has.
    Host,
    /// It has a user name or a password.
    Credentials,
}

impl Address {
    /// Reads an absolute address.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let text = text.trim();
        let (scheme, rest) = scheme(text).ok_or(BadAddress::Relative)?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(BadAddress::Scheme(scheme.to_owned())),
        };
        let rest = rest.strip_prefix("//").ok_or(BadAddress::Host)?;
        Self::with_authority(secure, rest)
    }

    /// The address that `reference`, found at this one, means.
    pub fn join(&self, reference: &str) -> Result<Self, BadAddress> {
        let reference = reference.trim();
        if scheme(reference).is_some() {
            return Self::parse(reference);
        }
        if let Some(rest) = reference.strip_prefix("//") {
            return Self::with_authority(self.secure, rest);
        }
        let reference = without_fragment(reference);
        let (path, _) = split_query(&self.path_and_query);
        let joined = if reference.is_empty() {
            self.path_and_query.clone()
        } else if reference.starts_with('?') {
            format!("{path}{reference}")
        } else if reference.starts_with('/') {
            without_dots(reference)
        } else {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            without_dots(&format!("{folder}/{reference}"))
        };
        Ok(Self {
            path_and_query: escaped(&joined),
            ..self.clone()
        })
    }

    fn with_authority(secure: bool, rest: &str) -> Result<Self, BadAddress> {
        let rest = without_fragment(rest);
        let (authority, path_and_query) =
            rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(BadAddress::Credentials);
        }
        let named = authority
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-._:[]".contains(character));
        if authority.is_empty() || authority.starts_with(':') || !named {
            return Err(BadAddress::Host);
        }
        let path_and_query = if path_and_query.starts_with('/') {
            without_dots(path_and_query)
        } else {
            format!("/{path_and_query}")
        };
        Ok(Self {
            secure,
            authority: authority.to_ascii_lowercase(),
            path_and_query: escaped(&path_and_query),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(
            formatter,
            "{scheme}://{}{}",
            self.authority, self.path_and_query
        )
    }
}

impl fmt::Display for BadAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative => {
                formatter.write_str("it has no scheme: write it out, from https:// on")
            }
            Self::Scheme(scheme) => write!(
                formatter,
                "its scheme is {scheme}: only http and https can be fetched"
            ),
            Self::Host => formatter.write_str(
                "its host is missing or malformed (names outside ASCII go in their xn-- form)",
            ),
            Self::Credentials => formatter.write_str("it has a user name in it: leave that out"),
        }
    }
}

/// Scheme and what follows its colon, if `text` begins with one.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut characters = scheme.chars();
    let begins = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic());
    let goes_on =
        characters.all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    // `host:8080/path` has no scheme, although it reads like one.
    let port = rest.starts_with(|next: char| next.is_ascii_digit());
    (begins && goes_on && !port).then_some((scheme, rest))
}

fn without_fragment(text: &str) -> &str {
    text.split_once('#').map_or(text, |(before, _)| before)
}

/// Path, and query with its `?`.
fn split_query(text: &str) -> (&str, &str) {
    text.split_at(text.find('?').unwrap_or(text.len()))
}

/// `path_and_query` with the `.` and `..` parts of its path carried out.
fn without_dots(path_and_query: &str) -> String {
    let (path, query) = split_query(path_and_query);
    let mut parts: Vec<&str> = Vec::new();
    let mut names = path.split('/').skip(1).peekable();
    while let Some(name) = names.next() {
        let last = names.peek().is_none();
        match name {
            "." => {}
            ".." => {
                parts.pop();
            }
            _ => {
                parts.push(name);
                continue;
            }
        }
        if last {
            parts.push("");
        }
    }
    format!("/{}{query}", parts.join("/"))
}

/// `text` with everything percent-encoded that may not stand in a path or query. What is encoded
/// already stays.
fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte) {
            result.push(char::from(byte));
        } else {
            result.push_str(&format!("%{byte:02X}"));
        }
    }
    result
}
