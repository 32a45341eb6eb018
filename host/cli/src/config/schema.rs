//! The keys of `raddle.toml`. What a function here asks for is what the config knows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use raddle_core::digest::Digest;
use raddle_model::RESERVED_OPTIONS;
use serde_json::{Map, Value};
use toml::de::DeTable;

use super::reader::{Document, Item, Table};
use super::{
    Action, Config, Dynamic, Model, PermissionRule, Plugin, Provider, Requirement, Scope, Source,
    Token, Variant, grants, shown, values,
};
use crate::{files, standard};

/// Reads the whole document; faults are kept by the document.
pub(super) fn read(
    document: &Document<'_>,
    values: &DeTable<'_>,
    name: &str,
    file: &Path,
) -> Config {
    let base = file.parent().unwrap_or(Path::new("/"));
    let mut root = document.root(values);
    let (tool_order, deferred) = section(&mut root, "tools").map_or_else(Default::default, tools);
    let config = Config {
        shown: name.to_owned(),
        file: file.to_path_buf(),
        text: Digest::of(""),
        agent: section(&mut root, "agent").and_then(agent),
        model: section(&mut root, "model").and_then(|table| model(table, base)),
        dynamic: section(&mut root, "prompt").map_or_else(Dynamic::default, prompt),
        tool_order,
        filter_order: section(&mut root, "filters").map_or_else(Vec::new, filters),
        deferred,
        plugins: section(&mut root, "plugins").map_or_else(Vec::new, |table| plugins(&table, base)),
        permissions: section(&mut root, "permission").map_or_else(Vec::new, permission),
        variants: section(&mut root, "variants").map_or_else(Vec::new, |table| variants(&table)),
        requirements: section(&mut root, "skill").map_or_else(Vec::new, skill),
        allow: section(&mut root, "check").map_or_else(Vec::new, check),
        store: section(&mut root, "store").and_then(|table| store(table, base)),
        tokens: section(&mut root, "serve").map_or_else(Vec::new, serve),
        places: BTreeMap::new(),
    };
    root.close();
    config
}

fn section<'a>(root: &mut Table<'a>, key: &'static str) -> Option<Table<'a>> {
    root.get(key)?.table()
}

fn agent(mut table: Table<'_>) -> Option<String> {
    let default = table.get("default").and_then(|item| item.words());
    table.close();
    default.map(str::to_owned)
}

fn model(mut table: Table<'_>, base: &Path) -> Option<Model> {
    let provider = table
        .require("provider", "write `provider = \"openai-responses\"`")
        .and_then(|item| item.choice(&Provider::NAMES));
    let name = table
        .require("name", "write the model's name, as its service knows it")
        .and_then(|item| item.words());
    let base_url = table.get("base_url").and_then(|item| {
        let url = item.words()?;
        if let Err(error) = raddle_model::check_base_url(url) {
            item.fault(error.to_string());
        }
        Some(url.to_owned())
    });
    let api_key_env = table.get("api_key_env").and_then(|item| {
        let name = item.string()?;
        if !values::is_environment_name(name) {
            // What stands there may be the key itself: it is not repeated.
            item.fault(format!(
                "{} must name the environment variable that holds the key, such as \
                 \"OPENAI_API_KEY\"",
                item.label()
            ));
        }
        Some(name.to_owned())
    });
    let window_tokens = table.get("window_tokens").and_then(|item| item.count());
    let headers = table.get("headers").and_then(|item| headers(&item));
    let options = table.get("options").and_then(|item| options(&item));
    let (connect_timeout, idle_timeout) = table
        .get("timeouts")
        .and_then(|item| item.table())
        .map(|mut timeouts| {
            let connect = timeouts.get("connect").and_then(|item| item.duration());
            let idle = timeouts.get("idle").and_then(|item| item.duration());
            timeouts.close();
            (connect, idle)
        })
        .unwrap_or_default();
    let recording = table.get("recording").and_then(|item| {
        let file = base.join(item.words()?);
        must_be_a_file(&item, &file).then_some(file)
    });
    if provider == Some(Provider::Replay) {
        table.require("recording", "the `replay` provider reads one");
    }
    let developer_role = table.get("developer_role").and_then(|item| item.boolean());
    table.close();
    Some(Model {
        provider: provider?,
        name: name?.to_owned(),
        base_url,
        api_key_env,
        window_tokens,
        headers: headers.unwrap_or_default(),
        options: options.unwrap_or_default(),
        connect_timeout,
        idle_timeout,
        recording,
        developer_role,
    })
}

fn options(item: &Item<'_>) -> Option<Map<String, Value>> {
    for option in item.table()?.entries() {
        if RESERVED_OPTIONS.contains(&option.key()) {
            option.key_fault(format!(
                "{} cannot be set: the harness writes it itself",
                option.label()
            ));
        }
    }
    item.json_object()
}

fn headers(item: &Item<'_>) -> Option<BTreeMap<String, String>> {
    let table = item.table()?;
    let mut headers = BTreeMap::new();
    let mut names = BTreeSet::new();
    for item in table.entries() {
        if !names.insert(item.key().to_ascii_lowercase()) {
            item.key_fault(format!(
                "{} stands there already: upper and lower case are the same in a header's name",
                item.label()
            ));
        }
        let Some(value) = item.string() else {
            continue;
        };
        // What the variables will add is looked at when they are read.
        match expand(value, |_| Some(String::new())) {
            Ok(fixed) => {
                if let Err(error) = raddle_model::check_header(item.key(), &fixed) {
                    item.key_fault(error.to_string());
                }
            }
            Err(name) => item.fault(format!(
                "{}: `${{{name}}}` must name an environment variable, such as `${{TOKEN}}`",
                item.label()
            )),
        }
        headers.insert(item.key().to_owned(), value.to_owned());
    }
    Some(headers)
}

/// Replaces every `${NAME}` by `look_up(NAME)`; the name that is malformed or has no value is
/// the error.
pub(crate) fn expand(
    text: &str,
    mut look_up: impl FnMut(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or_else(|| after.to_owned())?;
        let value = values::is_environment_name(name).then(|| look_up(name));
        expanded.push_str(before);
        expanded.push_str(&value.flatten().ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn prompt(mut table: Table<'_>) -> Dynamic {
    let choices = [("inline", Dynamic::Inline), ("tail", Dynamic::Tail)];
    let dynamic = table.get("dynamic").and_then(|item| item.choice(&choices));
    table.close();
    dynamic.unwrap_or_default()
}

fn tools(mut table: Table<'_>) -> (Vec<String>, Vec<String>) {
    let order = distinct(table.get("order"));
    let deferred = distinct(table.get("deferred"));
    table.close();
    (order, deferred)
}

fn filters(mut table: Table<'_>) -> Vec<String> {
    let order = distinct(table.get("order"));
    table.close();
    order
}

/// Names, each once.
fn distinct(list: Option<Item<'_>>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in list.and_then(|item| item.list()).unwrap_or_default() {
        let Some(name) = item.words() else {
            continue;
        };
        if names.iter().any(|known| known == name) {
            item.fault(format!("{} names `{name}` twice", item.label()));
        }
        names.push(name.to_owned());
    }
    names
}

fn plugins(table: &Table<'_>, base: &Path) -> Vec<Plugin> {
    let mut plugins: Vec<Plugin> = table
        .entries()
        .filter_map(|item| plugin(&item, base))
        .collect();
    plugins.sort_by(|one, other| one.id.cmp(&other.id));
    plugins
}

fn plugin(item: &Item<'_>, base: &Path) -> Option<Plugin> {
    let id = item.key();
    if !values::is_plugin_id(id) {
        item.key_fault(format!(
            "`{id}` cannot be a plugin's id: start with a letter a-z, then letters a-z, digits, \
             `_` or `-`, at most 64"
        ));
    }
    let mut table = item.table()?;
    let optional = table.get("optional").and_then(|item| item.boolean());
    let optional = optional.unwrap_or_default();
    let late = table.get("late").and_then(|item| item.boolean());
    let remedy = "write `source = \"std:NAME\"` or the path of a component";
    let source = table.require("source", remedy).and_then(|item| {
        let written = item.words()?;
        Some((written.to_owned(), source(&item, written, base, optional)?))
    });
    let settings = table.get("settings").and_then(|item| item.json_object());
    let known = table.fault_count();
    let grants = table.get("grants").and_then(|item| item.table());
    let grants = grants.map(|table| grants::grants(table, base));
    let whole = table.fault_count() == known;
    let limits = table
        .get("limits")
        .and_then(|item| item.table())
        .map(grants::limits);
    table.close();
    let (written, source) = source?;
    // Without the grants that it was to have it would only be said to lack them.
    whole.then(|| Plugin {
        id: id.to_owned(),
        written,
        source,
        settings: settings.unwrap_or_default(),
        grants: grants.unwrap_or_default(),
        limits: limits.unwrap_or_default(),
        optional,
        late: late.unwrap_or_default(),
    })
}

fn source(item: &Item<'_>, written: &str, base: &Path, optional: bool) -> Option<Source> {
    if let Some(name) = written.strip_prefix("std:") {
        return match standard::find(name) {
            Ok(_) => Some(Source::Standard(name.to_owned())),
            Err(message) => {
                item.fault(message);
                None
            }
        };
    }
    if let Some((scheme, _)) = written.split_once("://") {
        item.fault(format!(
            "{} cannot be fetched: `{scheme}://` is not served yet; write `std:NAME` or a path",
            item.label()
        ));
        return None;
    }
    let file = base.join(written);
    // One that is not there is named once: it is not loaded.
    (optional || must_be_a_file(item, &file)).then_some(Source::File(file))
}

fn serve(mut table: Table<'_>) -> Vec<Token> {
    let tokens = table.get("token").and_then(|item| item.tables());
    let tokens = tokens.unwrap_or_default().into_iter().filter_map(token);
    let tokens: Vec<Token> = tokens.collect();
    for (index, token) in tokens.iter().enumerate() {
        if tokens[..index].iter().any(|other| other.name == token.name) {
            table.fault(format!("two tokens are called `{}`", token.name));
        }
    }
    table.close();
    tokens
}

fn token(mut table: Table<'_>) -> Option<Token> {
    let name = table
        .require("name", "write what sessions of it are marked with")
        .and_then(|item| item.words());
    let env = table.require("env", "name the environment variable that holds it");
    let env = env.and_then(|item| {
        let name = item.string()?;
        if !values::is_environment_name(name) {
            // What stands there may be the token itself: it is not repeated.
            item.fault(format!(
                "{} must name an environment variable, such as \"RADDLE_TOKEN\"",
                item.label()
            ));
        }
        Some(name)
    });
    let scopes = table
        .require(
            "scopes",
            "write what it is good for, such as [\"converse\"]",
        )
        .and_then(|item| item.list());
    let scopes = scopes.map(|items| {
        items
            .iter()
            .filter_map(|item| item.choice(&Scope::NAMES))
            .collect()
    });
    table.close();
    Some(Token {
        name: name?.to_owned(),
        env: env?.to_owned(),
        scopes: scopes?,
    })
}

fn permission(mut table: Table<'_>) -> Vec<PermissionRule> {
    let rules = table.get("rule").and_then(|item| item.tables());
    let rules = rules.unwrap_or_default().into_iter().filter_map(rule);
    let rules = rules.collect();
    table.close();
    rules
}

fn rule(mut table: Table<'_>) -> Option<PermissionRule> {
    let actions = [
        ("allow", Action::Allow),
        ("ask", Action::Ask),
        ("deny", Action::Deny),
    ];
    let tool = table
        .require("tool", "name a tool, or a pattern such as \"*\"")
        .and_then(|item| item.words());
    let argument = table.get("argument").and_then(|item| item.words());
    let pattern = table.get("match");
    if let Some(item) = &pattern
        && argument.is_none()
    {
        item.key_fault(format!(
            "{} needs `argument`: the name of the argument that it is about",
            item.label()
        ));
    }
    if argument.is_some() && pattern.is_none() {
        table.fault(format!(
            "{} has `argument` and no `match`: write the pattern of its value",
            table.name()
        ));
    }
    let pattern = pattern.and_then(|item| item.string());
    let action = table
        .require("action", "write \"allow\", \"ask\" or \"deny\"")
        .and_then(|item| item.choice(&actions));
    table.close();
    Some(PermissionRule {
        tool: tool?.to_owned(),
        argument: argument.map(str::to_owned),
        pattern: pattern.map(str::to_owned),
        action: action?,
    })
}

fn variants(table: &Table<'_>) -> Vec<Variant> {
    let mut variants: Vec<(usize, Variant)> = Vec::new();
    for item in table.entries() {
        let name = item.key().to_owned();
        if !values::is_plugin_id(&name) {
            item.key_fault(format!(
                "`{name}` cannot be a variant's name: start with a letter a-z, then letters a-z, \
                 digits, `_` or `-`, at most 64"
            ));
        }
        let Some(mut table) = item.table() else {
            continue;
        };
        let words = table.get("match").and_then(|item| item.strings());
        let preload = table.get("preload").and_then(|item| item.strings());
        table.close();
        let variant = Variant {
            name,
            words: words.unwrap_or_default(),
            preload: preload.unwrap_or_default(),
        };
        variants.push((item.key_offset(), variant));
    }
    variants.sort_by_key(|(offset, _)| *offset);
    variants.into_iter().map(|(_, variant)| variant).collect()
}

fn skill(mut table: Table<'_>) -> Vec<Requirement> {
    let rules = table.get("rule").and_then(|item| item.tables());
    let rules = rules
        .unwrap_or_default()
        .into_iter()
        .filter_map(|mut table| {
            let words = table
                .require("match", "list words, such as `match = [\"deck\"]`")
                .and_then(|item| item.strings());
            let skill = table
                .require("require", "name the skill that such a request requires")
                .and_then(|item| item.words());
            table.close();
            Some(Requirement {
                words: words?,
                skill: skill?.to_owned(),
            })
        });
    let rules = rules.collect();
    table.close();
    rules
}

fn check(mut table: Table<'_>) -> Vec<String> {
    let allow = table.get("allow").and_then(|item| item.strings());
    table.close();
    allow.unwrap_or_default()
}

fn store(mut table: Table<'_>, base: &Path) -> Option<std::path::PathBuf> {
    let path = table.get("path").and_then(|item| item.words());
    table.close();
    path.map(|path| base.join(path))
}

fn must_be_a_file(item: &Item<'_>, file: &Path) -> bool {
    let checked = files::check(file);
    if let Err(error) = &checked {
        item.fault(format!("{}: {}: {error}", item.label(), shown(file)));
    }
    checked.is_ok()
}
