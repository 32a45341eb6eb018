//! The template grammar, as properties.

use proptest::prelude::*;
use raddle_core::prompt::template::{Position, Template, TemplateFault, escape};

fn rendered(template: &Template, value: &str) -> String {
    template.render(|_| Some(value)).unwrap().text
}

/// Text in which the grammar's own characters are frequent.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("<".to_owned()),
        Just("<<".to_owned()),
        Just(">".to_owned()),
        Just(">>".to_owned()),
        Just(r"\".to_owned()),
        Just("<<model>>".to_owned()),
        Just("a_1".to_owned()),
        Just("\n".to_owned()),
        "\\PC{0,3}",
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn text_without_an_opening_is_itself(text in texts()) {
        prop_assume!(!text.contains("<<"));
        prop_assert_eq!(rendered(&Template::parse(text.as_str()).unwrap(), ""), text);
    }

    #[test]
    fn escaped_text_comes_back(text in texts()) {
        let template = Template::parse(escape(&text)).unwrap();
        prop_assert!(template.references().is_empty());
        prop_assert_eq!(rendered(&template, "a value"), text);
    }

    #[test]
    fn a_verbatim_text_is_itself(text in texts()) {
        prop_assert_eq!(rendered(&Template::verbatim(text.as_str()), "a value"), text);
    }

    #[test]
    fn no_text_panics_and_every_fault_stands_at_an_opening(text in texts()) {
        match Template::parse(text.as_str()) {
            Ok(template) => {
                for reference in template.references() {
                    let written = format!("<<{}>>", reference.name);
                    prop_assert!(text[reference.at..].starts_with(&written));
                }
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                for fault in faults {
                    let line = text.split('\n').nth(fault.position.line - 1).unwrap();
                    let at: String = line.chars().skip(fault.position.column - 1).collect();
                    prop_assert!(at.starts_with("<<"), "{} in {:?}", fault.position, text);
                }
            }
        }
    }

    #[test]
    fn values_are_inserted_as_they_are(before in "[a-z \n]{0,9}", value in texts(), after in "[a-z \n]{0,9}") {
        let template = Template::parse(format!("{before}<<x>>{after}")).unwrap();
        prop_assert_eq!(rendered(&template, &value), format!("{before}{value}{after}"));
    }

    #[test]
    fn pieces_tile_the_rendering(before in texts(), after in texts(), value in texts()) {
        let source = format!("{}<<x>>{}<<y>>", escape(&before), escape(&after));
        prop_assume!(!before.ends_with(['\\', '<']) && !after.ends_with(['\\', '<']));
        let rendered = Template::parse(source).unwrap().render(|_| Some(value.as_str())).unwrap();
        let mut start = 0;
        for piece in &rendered.pieces {
            prop_assert!(piece.end > start);
            if piece.reference.is_some() {
                prop_assert_eq!(&rendered.text[start..piece.end], &value);
            }
            start = piece.end;
        }
        prop_assert_eq!(start, rendered.text.len());
    }
}

#[test]
fn the_four_forms_are_told_apart() {
    let fault = |text: &str| Template::parse(text).unwrap_err().remove(0).fault;
    let malformed = |group: &str| TemplateFault::Malformed {
        group: group.to_owned(),
    };
    assert_eq!(fault("a << model >> b"), malformed("<< model >>"));
    assert_eq!(fault("<<>>"), malformed("<<>>"));
    assert_eq!(fault("<<_x>>"), malformed("<<_x>>"));
    assert_eq!(fault("<<größe>>"), malformed("<<größe>>"));
    assert_eq!(fault("<<<model>>>"), TemplateFault::Unbalanced);
    assert_eq!(fault("<<a<b>>"), TemplateFault::Unbalanced);
    assert_eq!(
        fault("if x < y << 2 < z; y >> 2"),
        TemplateFault::Unbalanced
    );
    let template = Template::parse("<<a>> and <<b_2>>").unwrap();
    assert_eq!(template.render(|index| (index == 0).then_some("1")), Err(1));
}

#[test]
fn a_lone_opening_is_prose_to_the_end() {
    for text in [
        "cat <<EOF",
        "x << 2",
        "a <<< b << c",
        "<<",
        "a >> b << c",
        r"\ <<",
    ] {
        let template = Template::parse(text).unwrap();
        assert_eq!(rendered(&template, ""), text);
    }
}

#[test]
fn an_escape_is_a_literal_opening() {
    for (source, text) in [
        (r"\<<model>>", "<<model>>"),
        (r"\\<<model>>", r"\<<model>>"),
        (r"\<<<", "<<<"),
        (r"\<<\<<", "<<<<"),
        (r"\n \a <", r"\n \a <"),
        (r"cat \<<EOF >> file", "cat <<EOF >> file"),
        (r"lone << then \<<", "lone << then <<"),
    ] {
        assert_eq!(
            rendered(&Template::parse(source).unwrap(), ""),
            text,
            "{source}"
        );
    }
}

#[test]
fn all_faults_of_a_text_are_found_with_their_places() {
    let faults = Template::parse("é <<A>>\nok <<b>>\r\n\t<<<c>>").unwrap_err();
    let places: Vec<String> = faults
        .iter()
        .map(|fault| fault.position.to_string())
        .collect();
    assert_eq!(places, ["1:3", "3:2"]);
}

#[test]
fn positions_count_characters() {
    let text = "añ\n😀x";
    let at = |line, column| Position { line, column };
    assert_eq!(Position::of(text, 0), at(1, 1));
    assert_eq!(Position::of(text, text.find('\n').unwrap()), at(1, 3));
    assert_eq!(Position::of(text, text.find('x').unwrap()), at(2, 2));
    assert_eq!(Position::of(text, text.len()), at(2, 3));
}
