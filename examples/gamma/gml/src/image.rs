//! Images, taken into the page.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most bytes of one image.
const LARGEST: u64 = 10 << 20;

/// The file that `src` names, and its media type: a file in the deck's folder or below it.
pub(crate) fn find(folder: &Path, src: &str) -> Result<(PathBuf, &'static str), String> {
    let path = Path::new(src);
    let stays = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !stays || src.contains(':') || src.contains('\\') {
        return Err(format!("{src:?} is no relative path in the deck's folder"));
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    let media_type = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("svg") => "image/svg+xml",
        _ => return Err(format!("{src:?} is no png, jpg, gif, webp or svg")),
    };
    let missing = |_| format!("there is no file {src:?}");
    let file = folder.join(path).canonicalize().map_err(missing)?;
    let folder = folder.canonicalize().map_err(missing)?;
    if !file.starts_with(folder) {
        return Err(format!("{src:?} leads out of the deck's folder"));
    }
    let metadata = fs::metadata(&file).map_err(missing)?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(format!("{src:?} is no file of at most 10 MiB"));
    }
    Ok((file, media_type))
}

/// The image as a `data:` address.
pub(crate) fn address(folder: &Path, src: &str) -> Result<String, String> {
    let (file, media_type) = find(folder, src)?;
    let bytes = fs::read(file).map_err(|error| format!("{src:?}: {error}"))?;
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
