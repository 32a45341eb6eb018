//! Character references.

use crate::charset::windows;

/// Longest reference that is looked up.
const LONGEST: usize = 32;

/// `text` with its character references replaced. Those that are not known stay as they are. In an
/// attribute (`strict`) only complete ones count: `?a=1&copy=2` is an address.
pub(super) fn decode(text: &str, strict: bool) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('&') {
        let (before, reference) = rest.split_at(place);
        result.push_str(before);
        match one(reference, strict) {
            Some((character, length)) => {
                result.push(character);
                rest = reference.get(length..).unwrap_or_default();
            }
            None => {
                result.push('&');
                rest = reference.get(1..).unwrap_or_default();
            }
        }
    }
    result.push_str(rest);
    result
}

/// The character that a reference at the beginning of `text` means, and the length of the
/// reference.
fn one(text: &str, strict: bool) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    let length = body
        .char_indices()
        .take(LONGEST)
        .find(|(place, character)| {
            !(character.is_ascii_alphanumeric() || (*place == 0 && *character == '#'))
        })
        .map_or(body.len().min(LONGEST), |(place, _)| place);
    let name = body.get(..length)?;
    let complete = body.get(length..)?.starts_with(';');
    let character = match name.strip_prefix('#') {
        Some(number) => numbered(number)?,
        None => named(name)?,
    };
    let lenient =
        !strict && (name.starts_with('#') || matches!(name, "amp" | "lt" | "gt" | "quot" | "nbsp"));
    (complete || lenient).then_some((character, 1 + length + usize::from(complete)))
}

fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let code = code.ok()?;
    match u8::try_from(code) {
        Ok(0) => Some(char::REPLACEMENT_CHARACTER),
        Ok(byte @ 0x80..=0x9F) => Some(windows(byte)),
        _ => Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
    }
}

fn named(name: &str) -> Option<char> {
    NAMES
        .binary_search_by(|(own, _)| (*own).cmp(name))
        .ok()
        .and_then(|place| NAMES.get(place))
        .map(|(_, character)| *character)
}

/// The names that pages use: Latin-1, punctuation, arrows, mathematics, Greek. Sorted.
const NAMES: [(&str, char); 269] = [
    ("AElig", '\u{C6}'),
    ("Aacute", '\u{C1}'),
    ("Acirc", '\u{C2}'),
    ("Agrave", '\u{C0}'),
    ("Alpha", '\u{391}'),
    ("Aring", '\u{C5}'),
    ("Atilde", '\u{C3}'),
    ("Auml", '\u{C4}'),
    ("Beta", '\u{392}'),
    ("Ccedil", '\u{C7}'),
    ("Dagger", '\u{2021}'),
    ("Delta", '\u{394}'),
    ("ETH", '\u{D0}'),
    ("Eacute", '\u{C9}'),
    ("Ecirc", '\u{CA}'),
    ("Egrave", '\u{C8}'),
    ("Epsilon", '\u{395}'),
    ("Euml", '\u{CB}'),
    ("Gamma", '\u{393}'),
    ("Hat", '\u{5E}'),
    ("Iacute", '\u{CD}'),
    ("Icirc", '\u{CE}'),
    ("Igrave", '\u{CC}'),
    ("Iuml", '\u{CF}'),
    ("Lambda", '\u{39B}'),
    ("NewLine", '\u{A}'),
    ("Ntilde", '\u{D1}'),
    ("OElig", '\u{152}'),
    ("Oacute", '\u{D3}'),
    ("Ocirc", '\u{D4}'),
    ("Ograve", '\u{D2}'),
    ("Omega", '\u{3A9}'),
    ("Oslash", '\u{D8}'),
    ("Otilde", '\u{D5}'),
    ("Ouml", '\u{D6}'),
    ("Phi", '\u{3A6}'),
    ("Pi", '\u{3A0}'),
    ("Prime", '\u{2033}'),
    ("Psi", '\u{3A8}'),
    ("Scaron", '\u{160}'),
    ("Sigma", '\u{3A3}'),
    ("THORN", '\u{DE}'),
    ("Tab", '\u{9}'),
    ("Theta", '\u{398}'),
    ("Uacute", '\u{DA}'),
    ("Ucirc", '\u{DB}'),
    ("Ugrave", '\u{D9}'),
    ("Uuml", '\u{DC}'),
    ("Yacute", '\u{DD}'),
    ("Yuml", '\u{178}'),
    ("aacute", '\u{E1}'),
    ("acirc", '\u{E2}'),
    ("acute", '\u{B4}'),
    ("aelig", '\u{E6}'),
    ("agrave", '\u{E0}'),
    ("alpha", '\u{3B1}'),
    ("amp", '\u{26}'),
    ("and", '\u{2227}'),
    ("ang", '\u{2220}'),
    ("apos", '\u{27}'),
    ("aring", '\u{E5}'),
    ("ast", '\u{2A}'),
    ("asymp", '\u{2248}'),
    ("atilde", '\u{E3}'),
    ("auml", '\u{E4}'),
    ("bdquo", '\u{201E}'),
    ("beta", '\u{3B2}'),
    ("brvbar", '\u{A6}'),
    ("bsol", '\u{5C}'),
    ("bull", '\u{2022}'),
    ("cap", '\u{2229}'),
    ("ccedil", '\u{E7}'),
    ("cedil", '\u{B8}'),
    ("cent", '\u{A2}'),
    ("check", '\u{2713}'),
    ("chi", '\u{3C7}'),
    ("circ", '\u{2C6}'),
    ("clubs", '\u{2663}'),
    ("colon", '\u{3A}'),
    ("comma", '\u{2C}'),
    ("commat", '\u{40}'),
    ("cong", '\u{2245}'),
    ("copy", '\u{A9}'),
    ("crarr", '\u{21B5}'),
    ("cup", '\u{222A}'),
    ("curren", '\u{A4}'),
    ("dArr", '\u{21D3}'),
    ("dagger", '\u{2020}'),
    ("darr", '\u{2193}'),
    ("deg", '\u{B0}'),
    ("delta", '\u{3B4}'),
    ("diams", '\u{2666}'),
    ("divide", '\u{F7}'),
    ("dollar", '\u{24}'),
    ("eacute", '\u{E9}'),
    ("ecirc", '\u{EA}'),
    ("egrave", '\u{E8}'),
    ("empty", '\u{2205}'),
    ("emsp", '\u{2003}'),
    ("ensp", '\u{2002}'),
    ("epsilon", '\u{3B5}'),
    ("equals", '\u{3D}'),
    ("equiv", '\u{2261}'),
    ("eta", '\u{3B7}'),
    ("eth", '\u{F0}'),
    ("euml", '\u{EB}'),
    ("euro", '\u{20AC}'),
    ("excl", '\u{21}'),
    ("exist", '\u{2203}'),
    ("fnof", '\u{192}'),
    ("forall", '\u{2200}'),
    ("frac12", '\u{BD}'),
    ("frac14", '\u{BC}'),
    ("frac34", '\u{BE}'),
    ("frasl", '\u{2044}'),
    ("gamma", '\u{3B3}'),
    ("ge", '\u{2265}'),
    ("grave", '\u{60}'),
    ("gt", '\u{3E}'),
    ("hArr", '\u{21D4}'),
    ("harr", '\u{2194}'),
    ("hearts", '\u{2665}'),
    ("hellip", '\u{2026}'),
    ("hyphen", '\u{2010}'),
    ("iacute", '\u{ED}'),
    ("icirc", '\u{EE}'),
    ("iexcl", '\u{A1}'),
    ("igrave", '\u{EC}'),
    ("image", '\u{2111}'),
    ("infin", '\u{221E}'),
    ("int", '\u{222B}'),
    ("iota", '\u{3B9}'),
    ("iquest", '\u{BF}'),
    ("isin", '\u{2208}'),
    ("iuml", '\u{EF}'),
    ("kappa", '\u{3BA}'),
    ("lArr", '\u{21D0}'),
    ("lambda", '\u{3BB}'),
    ("laquo", '\u{AB}'),
    ("larr", '\u{2190}'),
    ("lbrace", '\u{7B}'),
    ("lbrack", '\u{5B}'),
    ("lceil", '\u{2308}'),
    ("lcub", '\u{7B}'),
    ("ldquo", '\u{201C}'),
    ("le", '\u{2264}'),
    ("lfloor", '\u{230A}'),
    ("lowast", '\u{2217}'),
    ("lowbar", '\u{5F}'),
    ("loz", '\u{25CA}'),
    ("lpar", '\u{28}'),
    ("lrm", '\u{200E}'),
    ("lsaquo", '\u{2039}'),
    ("lsqb", '\u{5B}'),
    ("lsquo", '\u{2018}'),
    ("lt", '\u{3C}'),
    ("macr", '\u{AF}'),
    ("mdash", '\u{2014}'),
    ("micro", '\u{B5}'),
    ("middot", '\u{B7}'),
    ("minus", '\u{2212}'),
    ("mu", '\u{3BC}'),
    ("nabla", '\u{2207}'),
    ("nbsp", '\u{A0}'),
    ("ndash", '\u{2013}'),
    ("ne", '\u{2260}'),
    ("ni", '\u{220B}'),
    ("not", '\u{AC}'),
    ("notin", '\u{2209}'),
    ("ntilde", '\u{F1}'),
    ("nu", '\u{3BD}'),
    ("num", '\u{23}'),
    ("oacute", '\u{F3}'),
    ("ocirc", '\u{F4}'),
    ("oelig", '\u{153}'),
    ("ograve", '\u{F2}'),
    ("oline", '\u{203E}'),
    ("omega", '\u{3C9}'),
    ("omicron", '\u{3BF}'),
    ("oplus", '\u{2295}'),
    ("or", '\u{2228}'),
    ("ordf", '\u{AA}'),
    ("ordm", '\u{BA}'),
    ("oslash", '\u{F8}'),
    ("otilde", '\u{F5}'),
    ("otimes", '\u{2297}'),
    ("ouml", '\u{F6}'),
    ("para", '\u{B6}'),
    ("part", '\u{2202}'),
    ("percnt", '\u{25}'),
    ("period", '\u{2E}'),
    ("permil", '\u{2030}'),
    ("perp", '\u{22A5}'),
    ("phi", '\u{3C6}'),
    ("pi", '\u{3C0}'),
    ("plus", '\u{2B}'),
    ("plusmn", '\u{B1}'),
    ("pound", '\u{A3}'),
    ("prime", '\u{2032}'),
    ("prod", '\u{220F}'),
    ("prop", '\u{221D}'),
    ("psi", '\u{3C8}'),
    ("quest", '\u{3F}'),
    ("quot", '\u{22}'),
    ("rArr", '\u{21D2}'),
    ("radic", '\u{221A}'),
    ("raquo", '\u{BB}'),
    ("rarr", '\u{2192}'),
    ("rbrace", '\u{7D}'),
    ("rbrack", '\u{5D}'),
    ("rceil", '\u{2309}'),
    ("rcub", '\u{7D}'),
    ("rdquo", '\u{201D}'),
    ("real", '\u{211C}'),
    ("reg", '\u{AE}'),
    ("rfloor", '\u{230B}'),
    ("rho", '\u{3C1}'),
    ("rlm", '\u{200F}'),
    ("rpar", '\u{29}'),
    ("rsaquo", '\u{203A}'),
    ("rsqb", '\u{5D}'),
    ("rsquo", '\u{2019}'),
    ("sbquo", '\u{201A}'),
    ("scaron", '\u{161}'),
    ("sdot", '\u{22C5}'),
    ("sect", '\u{A7}'),
    ("semi", '\u{3B}'),
    ("shy", '\u{AD}'),
    ("sigma", '\u{3C3}'),
    ("sigmaf", '\u{3C2}'),
    ("sim", '\u{223C}'),
    ("sol", '\u{2F}'),
    ("spades", '\u{2660}'),
    ("star", '\u{2606}'),
    ("sub", '\u{2282}'),
    ("sube", '\u{2286}'),
    ("sum", '\u{2211}'),
    ("sup", '\u{2283}'),
    ("sup1", '\u{B9}'),
    ("sup2", '\u{B2}'),
    ("sup3", '\u{B3}'),
    ("supe", '\u{2287}'),
    ("szlig", '\u{DF}'),
    ("tau", '\u{3C4}'),
    ("there4", '\u{2234}'),
    ("theta", '\u{3B8}'),
    ("thinsp", '\u{2009}'),
    ("thorn", '\u{FE}'),
    ("tilde", '\u{2DC}'),
    ("times", '\u{D7}'),
    ("trade", '\u{2122}'),
    ("uArr", '\u{21D1}'),
    ("uacute", '\u{FA}'),
    ("uarr", '\u{2191}'),
    ("ucirc", '\u{FB}'),
    ("ugrave", '\u{F9}'),
    ("uml", '\u{A8}'),
    ("upsilon", '\u{3C5}'),
    ("uuml", '\u{FC}'),
    ("verbar", '\u{7C}'),
    ("vert", '\u{7C}'),
    ("weierp", '\u{2118}'),
    ("xi", '\u{3BE}'),
    ("yacute", '\u{FD}'),
    ("yen", '\u{A5}'),
    ("yuml", '\u{FF}'),
    ("zeta", '\u{3B6}'),
    ("zwj", '\u{200D}'),
    ("zwnj", '\u{200C}'),
];
