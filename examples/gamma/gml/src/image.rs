//! Images, taken into the page.

/// Where a deck's images come from.
pub trait Images {
    /// Says why there is no file `src`, a relative path in the deck's folder, if there is none.
    ///
    /// # Errors
    ///
    /// A line about it.
    fn check(&self, src: &str) -> Result<(), String>;

    /// The bytes of the file `src`.
    ///
    /// # Errors
    ///
    /// A line about why it cannot be read.
    fn read(&self, src: &str) -> Result<Vec<u8>, String>;
}

/// The media type of the file that `src` names, or why it cannot be an image of a deck: a file in
/// the deck's folder or below it.
pub(crate) fn media_type(src: &str) -> Result<&'static str, String> {
    let stays = !src.starts_with('/') && src.split('/').all(|part| part != "..");
    if !stays || src.contains(':') || src.contains('\\') {
        return Err(format!("{src:?} is no relative path in the deck's folder"));
    }
    let extension = src
        .rsplit('/')
        .next()
        .and_then(|name| name.rsplit_once('.'));
    match extension
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .as_deref()
    {
        Some("png") => Ok("image/png"),
        Some("jpg" | "jpeg") => Ok("image/jpeg"),
        Some("gif") => Ok("image/gif"),
        Some("webp") => Ok("image/webp"),
        Some("svg") => Ok("image/svg+xml"),
        _ => Err(format!("{src:?} is no png, jpg, gif, webp or svg")),
    }
}

/// What is wrong with an image, if something is.
pub(crate) fn check(images: &dyn Images, src: &str) -> Result<(), String> {
    media_type(src)?;
    images.check(src)
}

/// The image as a `data:` address.
pub(crate) fn address(images: &dyn Images, src: &str) -> Result<String, String> {
    let media_type = media_type(src)?;
    let bytes = images.read(src)?;
    Ok(format!("data:{media_type};base64,{}", base64(&bytes)))
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let place = (word >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit > chunk.len() {
                '='
            } else {
                char::from(DIGITS[place])
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn the_vectors_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
