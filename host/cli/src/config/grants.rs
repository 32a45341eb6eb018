//! What a plugin may touch and use: `grants` and `limits`.

use std::path::Path;
use std::time::Duration;

use raddle_core::plugins::ChildLimits;

use raddle_wasm::Limits;
use raddle_wasm::grants::{
    Access, Directory, Grants, HttpHost, ModelGrant, ProcessGrant, Sandbox, WorkspaceGrant,
};

use super::reader::{Item, Table};
use super::values;

/// Children of one session that run at the same time, where the grant does not say.
const CHILDREN: usize = 8;

/// Wall clock of one child, where the grant does not say.
const CHILD_TIME: Duration = Duration::from_secs(10 * 60);

/// How the config names the session's directory.
const SESSION: &str = "<session>";

/// Reads `grants`.
pub(super) fn grants(mut table: Table<'_>, base: &Path) -> Grants {
    let mut workspace = Vec::new();
    let granted = table.get("workspace").and_then(|item| item.tables());
    for table in granted.unwrap_or_default() {
        workspace.extend(granted_directory(table, base, &workspace));
    }
    let http = table.get("http").and_then(|item| item.table());
    let http = http.map(hosts).unwrap_or_default();
    let process = table
        .get("process")
        .and_then(|item| item.table())
        .and_then(|table| process(table, base));
    let model = table.get("model").and_then(|item| item.table());
    let model = model.and_then(model_grant);
    let sessions = table.get("sessions").and_then(|item| item.table());
    let sessions = sessions.and_then(sessions_grant);
    table.not_served_yet("connections", "there are no connections");
    table.close();
    Grants {
        workspace,
        http,
        process,
        model,
        sessions,
    }
}

/// Reads `limits`; the runtime's own stand for what is not written.
pub(super) fn limits(mut table: Table<'_>) -> Limits {
    let mut limits = Limits::default();
    let bytes = |item: Item<'_>| {
        let bytes = item.size()?;
        // More than this machine could address is no limit either way.
        Some(usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    if let Some(memory) = table.get("memory").and_then(bytes) {
        limits.memory = memory;
    }
    if let Some(timeout) = table.get("timeout").and_then(|item| item.duration()) {
        limits.timeout = timeout;
    }
    if let Some(output) = table.get("output").and_then(bytes) {
        limits.output = output;
    }
    if let Some(calls) = table.get("concurrency").and_then(|item| item.count()) {
        limits.concurrency = calls as usize;
    }
    if let Some(strikes) = table.get("strikes").and_then(|item| item.count()) {
        limits.strikes = strikes;
    }
    table.close();
    limits
}

/// One more directory than those that are granted already.
fn granted_directory(
    mut table: Table<'_>,
    base: &Path,
    granted: &[WorkspaceGrant],
) -> Option<WorkspaceGrant> {
    let remedy = "write `dir = \"<session>\"` or a path";
    let dir = table.require("dir", remedy).and_then(|item| {
        let dir = directory(&item, base)?;
        if granted.iter().any(|grant| grant.directory == dir) {
            item.fault(format!(
                "{} is granted already: keep one of the two, with the mode you mean",
                item.label()
            ));
        }
        Some(dir)
    });
    let modes = [("ro", Access::Read), ("rw", Access::ReadWrite)];
    let access = table
        .require("mode", "write `mode = \"ro\"` or `mode = \"rw\"`")
        .and_then(|item| item.choice(&modes));
    table.close();
    Some(WorkspaceGrant {
        directory: dir?,
        access: access?,
    })
}

fn hosts(mut table: Table<'_>) -> Vec<HttpHost> {
    let hosts = table.require("hosts", "write `hosts = [\"api.example.com\"]`");
    let hosts = hosts.and_then(|item| item.list()).unwrap_or_default();
    let hosts = hosts.iter().filter_map(|item| {
        let host = HttpHost::parse(item.words()?);
        host.map_err(|error| item.fault(format!("{}: {error}", item.label())))
            .ok()
    });
    let hosts = hosts.collect();
    table.close();
    hosts
}

fn process(mut table: Table<'_>, base: &Path) -> Option<ProcessGrant> {
    let programs = table.require("programs", "write `programs = [\"bash\"]`");
    let programs = programs.and_then(|item| item.strings()).unwrap_or_default();
    let cwd = table
        .require("cwd", "write `cwd = \"<session>\"` or a path")
        .and_then(|item| directory(&item, base));
    let names = table.get("env").and_then(|item| item.list());
    let names = names.unwrap_or_default();
    let environment = names.iter().filter_map(|item| {
        let name = item.words()?;
        if !values::is_environment_name(name) {
            item.fault(format!(
                "{} takes names of environment variables, found `{name}`",
                item.label()
            ));
        }
        Some(name.to_owned())
    });
    let environment = environment.collect();
    let write = table.get("write").and_then(|item| item.list());
    let write = write.unwrap_or_default();
    let write = write.iter().filter_map(|item| directory(item, base));
    let write = write.collect();
    let network = table.get("network").and_then(|item| item.boolean());
    let choices = [
        ("off", Sandbox::Off),
        ("require", Sandbox::Require),
        ("try", Sandbox::Try),
    ];
    let sandbox = table.get("sandbox").and_then(|item| item.choice(&choices));
    table.close();
    Some(ProcessGrant {
        programs,
        directory: cwd?,
        environment,
        write,
        network: network.unwrap_or_default(),
        sandbox: sandbox.unwrap_or_default(),
    })
}

fn model_grant(mut table: Table<'_>) -> Option<ModelGrant> {
    let max_tokens = table.require("max_tokens", "write `max_tokens = 4000`");
    let max_tokens = max_tokens.and_then(|item| item.count());
    table.close();
    Some(ModelGrant {
        max_tokens: max_tokens?,
    })
}

fn sessions_grant(mut table: Table<'_>) -> Option<ChildLimits> {
    let depth = table.require("depth", "write `depth = 1`: children that have none");
    let depth = depth.and_then(|item| item.count());
    let children = table.get("children").and_then(|item| item.count());
    let steps = table.get("steps").and_then(|item| item.count());
    let tokens = table.get("tokens").and_then(|item| item.count());
    let time = table.get("time").and_then(|item| item.duration());
    table.close();
    Some(ChildLimits {
        depth: depth?,
        children: children.map_or(CHILDREN, |children| children as usize),
        steps,
        tokens: tokens.map(u64::from),
        time: time.unwrap_or(CHILD_TIME),
    })
}

fn directory(item: &Item<'_>, base: &Path) -> Option<Directory> {
    let written = item.words()?;
    if written == SESSION {
        return Some(Directory::Session);
    }
    if written.starts_with('<') {
        item.fault(format!(
            "{} must be \"{SESSION}\" or a path, found `{written}`",
            item.label()
        ));
        return None;
    }
    Some(Directory::Path(base.join(written)))
}
