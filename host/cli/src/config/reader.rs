//! Strict reading of TOML: every key is asked for or refused, and every fault is kept with its
//! place, so that one look at the file shows all of them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::values;
use crate::report::{Finding, Lines, Place, did_you_mean};

/// A file while it is read.
pub(super) struct Document<'a> {
    file: &'a str,
    text: &'a str,
    lines: Lines<'a>,
    faults: RefCell<Vec<Finding>>,
}

/// A table while it is read: it remembers which keys it was asked for.
pub(super) struct Table<'a> {
    document: &'a Document<'a>,
    /// `[plugins.bash]`; empty for the top level.
    name: String,
    offset: usize,
    values: &'a DeTable<'a>,
    asked: BTreeSet<&'static str>,
    /// Keys that a later version will serve: refused already, and not offered.
    later: BTreeSet<&'static str>,
}

/// A value, the key it stands under and the table that holds it.
#[derive(Clone)]
pub(super) struct Item<'a> {
    document: &'a Document<'a>,
    table: String,
    key: String,
    key_offset: usize,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Document<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            lines: Lines::of(text),
            faults: RefCell::default(),
        }
    }

    /// Parses the text; what is left of it after syntax faults can still be read.
    pub(super) fn parse(&self) -> DeTable<'a> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let span = error.span().unwrap_or(self.text.len()..self.text.len());
            let message = match error.message() {
                "duplicate key" => format!(
                    "duplicate key `{}`: remove one of the two",
                    self.text.get(span.clone()).unwrap_or_default()
                ),
                other => other.to_owned(),
            };
            self.fault(span.start, message);
        }
        table.into_inner()
    }

    pub(super) fn root(&'a self, values: &'a DeTable<'a>) -> Table<'a> {
        Table {
            document: self,
            name: String::new(),
            offset: 0,
            values,
            asked: BTreeSet::new(),
            later: BTreeSet::new(),
        }
    }

    /// Notes a fault. A line with broken syntax has one fault: what it says cannot be trusted.
    pub(super) fn fault(&self, offset: usize, message: impl AsRef<str>) {
        let place = self.lines.place(offset);
        self.faults
            .borrow_mut()
            .push(Finding::at(self.file, Some(place), message));
    }

    pub(super) fn place(&self, offset: usize) -> Place {
        self.lines.place(offset)
    }

    /// The lines on which a fault was noted so far.
    pub(super) fn faulty_lines(&self) -> BTreeSet<usize> {
        let faults = self.faults.borrow();
        let places = faults.iter().filter_map(|fault| fault.place);
        places.map(|place| place.line).collect()
    }

    /// All faults in the order of the file. Only syntax faults are kept on `broken` lines.
    pub(super) fn into_faults(self, broken: &BTreeSet<usize>, syntax: usize) -> Vec<Finding> {
        let mut position = 0;
        let mut faults = self.faults.into_inner();
        faults.retain(|fault| {
            position += 1;
            let line = fault.place.map_or(0, |place| place.line);
            position <= syntax || !broken.contains(&line)
        });
        faults.sort_by_key(|fault| fault.place);
        faults.dedup();
        faults
    }

    pub(super) fn fault_count(&self) -> usize {
        self.faults.borrow().len()
    }
}

impl<'a> Table<'a> {
    /// The value under `key`, which is thereby a known key.
    pub(super) fn get(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.asked.insert(key);
        let (name, value) = self.values.get_key_value(key)?;
        Some(self.item(name, value))
    }

    /// Like [`get`](Self::get), but a fault with `remedy` if there is none.
    pub(super) fn require(&mut self, key: &'static str, remedy: &str) -> Option<Item<'a>> {
        let item = self.get(key);
        if item.is_none() {
            let message = format!("{} has no `{key}`: {remedy}", self.name);
            self.document.fault(self.offset, message);
        }
        item
    }

    /// Refuses a key that a later version will serve.
    pub(super) fn not_served_yet(&mut self, key: &'static str, what: &str) {
        self.later.insert(key);
        if let Some((name, _)) = self.values.get_key_value(key) {
            let message = format!(
                "`{key}`{} is not served yet ({what}): remove it",
                self.within()
            );
            self.document.fault(name.span().start, message);
        }
    }

    /// Every entry, for tables whose keys the deployer names.
    pub(super) fn entries(&self) -> impl Iterator<Item = Item<'a>> {
        self.values
            .iter()
            .map(|(name, value)| self.item(name, value))
    }

    pub(super) fn fault(&self, message: impl AsRef<str>) {
        self.document.fault(self.offset, message);
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How many faults the document has so far.
    pub(super) fn fault_count(&self) -> usize {
        self.document.fault_count()
    }

    /// Refuses every key that nobody asked for.
    pub(super) fn close(self) {
        for (name, _) in self.values {
            let key = name.get_ref().as_ref();
            if !self.asked.contains(key) && !self.later.contains(key) {
                let message = format!(
                    "unknown key `{key}`{}{}",
                    self.within(),
                    did_you_mean(key, self.asked.iter().copied())
                );
                self.document.fault(name.span().start, message);
            }
        }
    }

    fn within(&self) -> String {
        within(&self.name)
    }

    fn item(
        &self,
        name: &Spanned<std::borrow::Cow<'a, str>>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Item<'a> {
        Item {
            document: self.document,
            table: self.name.clone(),
            key: name.get_ref().to_string(),
            key_offset: name.span().start,
            value,
        }
    }
}

impl<'a> Item<'a> {
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Where its key stands.
    pub(super) fn key_offset(&self) -> usize {
        self.key_offset
    }

    /// Notes a fault of the value.
    pub(super) fn fault(&self, message: impl AsRef<str>) {
        self.document.fault(self.value.span().start, message);
    }

    /// Notes a fault of the key.
    pub(super) fn key_fault(&self, message: impl AsRef<str>) {
        self.document.fault(self.key_offset, message);
    }

    /// `` `name` in [model] ``.
    pub(super) fn label(&self) -> String {
        format!("`{}`{}", self.key, within(&self.table))
    }

    pub(super) fn string(&self) -> Option<&'a str> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            _ => self.wrong("a string"),
        }
    }

    /// A string that is not blank.
    pub(super) fn words(&self) -> Option<&'a str> {
        let text = self.string()?;
        if text.trim().is_empty() {
            self.fault(format!("{} is empty", self.label()));
            return None;
        }
        Some(text)
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => self.wrong("true or false"),
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.string()?;
        let found = choices.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let hint = did_you_mean(text, choices.iter().map(|(name, _)| *name));
            self.fault(format!("{} cannot be `{text}`{hint}", self.label()));
        }
        found.map(|(_, value)| *value)
    }

    /// A list; its items share the key's name.
    pub(super) fn list(&self) -> Option<Vec<Item<'a>>> {
        let DeValue::Array(array) = self.value.get_ref() else {
            return self.wrong("a list");
        };
        let item = |value: &'a Spanned<DeValue<'a>>| Item {
            value,
            ..self.clone()
        };
        Some(array.iter().map(item).collect())
    }

    pub(super) fn strings(&self) -> Option<Vec<String>> {
        let items = self.list()?;
        let texts = items.iter().filter_map(|item| item.words());
        Some(texts.map(str::to_owned).collect())
    }

    pub(super) fn table(&self) -> Option<Table<'a>> {
        let DeValue::Table(values) = self.value.get_ref() else {
            return self.wrong("a table");
        };
        Some(Table {
            document: self.document,
            name: nested(&self.table, &self.key),
            offset: self.value.span().start,
            values,
            asked: BTreeSet::new(),
            later: BTreeSet::new(),
        })
    }

    /// A list of tables, `[[name]]`.
    pub(super) fn tables(&self) -> Option<Vec<Table<'a>>> {
        let items = self.list()?;
        let tables = items.iter().filter_map(|item| {
            let mut table = item.table()?;
            table.name = format!("[{}]", table.name);
            Some(table)
        });
        Some(tables.collect())
    }

    /// A size in bytes, written like `64MiB`.
    pub(super) fn size(&self) -> Option<u64> {
        self.measure(values::size, "a size such as \"64MiB\"")
    }

    /// A whole number that is not 0.
    pub(super) fn count(&self) -> Option<u32> {
        let DeValue::Integer(number) = self.value.get_ref() else {
            return self.wrong("a whole number");
        };
        let count = u32::from_str_radix(number.as_str(), number.radix()).ok();
        let count = count.filter(|count| *count > 0);
        if count.is_none() {
            let most = u32::MAX;
            self.fault(format!("{} must be from 1 to {most}", self.label()));
        }
        count
    }

    /// A time span, written like `30s`.
    pub(super) fn duration(&self) -> Option<std::time::Duration> {
        self.measure(values::duration, "a time span such as \"30s\"")
    }

    /// A table of free form, as JSON. Keys are sorted, so that their order in the file does not
    /// matter.
    pub(super) fn json_object(&self) -> Option<Map<String, Value>> {
        let DeValue::Table(table) = self.value.get_ref() else {
            return self.wrong("a table");
        };
        Some(self.json_table(table))
    }

    fn measure<T>(&self, read: fn(&str) -> Option<T>, expected: &str) -> Option<T> {
        let DeValue::String(text) = self.value.get_ref() else {
            return self.wrong(expected);
        };
        let value = read(text);
        if value.is_none() {
            self.fault(format!(
                "{} must be {expected}, found `{text}`",
                self.label()
            ));
        }
        value
    }

    fn json_table(&self, table: &'a DeTable<'a>) -> Map<String, Value> {
        table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), self.json(value)))
            .collect()
    }

    fn json(&self, value: &'a Spanned<DeValue<'a>>) -> Value {
        let number = match value.get_ref() {
            DeValue::String(text) => return Value::String(text.to_string()),
            DeValue::Boolean(value) => return Value::Bool(*value),
            DeValue::Datetime(time) => return Value::String(time.to_string()),
            DeValue::Array(array) => {
                return Value::Array(array.iter().map(|value| self.json(value)).collect());
            }
            DeValue::Table(table) => return Value::Object(self.json_table(table)),
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
                .map(Value::from)
                .ok(),
            DeValue::Float(float) => float
                .as_str()
                .parse()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Value::Number),
        };
        number.unwrap_or_else(|| {
            let message = format!("a number in {} does not fit JSON", self.label());
            self.document.fault(value.span().start, message);
            Value::Null
        })
    }

    fn wrong<T>(&self, expected: &str) -> Option<T> {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.fault(format!(
            "{} must be {expected}, found {found}",
            self.label()
        ));
        None
    }
}

fn within(table: &str) -> String {
    if table.is_empty() {
        " at the top level".to_owned()
    } else {
        format!(" in {table}")
    }
}

/// The name of a table inside another: `[a]` and `b` give `[a.b]`.
fn nested(table: &str, key: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let key = match key.chars().all(plain) && !key.is_empty() {
        true => key.to_owned(),
        false => format!("{key:?}"),
    };
    match table.trim_start_matches('[').trim_end_matches(']') {
        "" => format!("[{key}]"),
        outer => format!("[{outer}.{key}]"),
    }
}
