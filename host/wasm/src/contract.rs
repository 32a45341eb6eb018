//! What a component's type says: which interfaces it exports and imports, and whether this host
//! can serve them. All faults are found at once, before anything runs.

mod served;

use std::collections::BTreeSet;

use serde::Serialize;
use wasmtime::Engine;
use wasmtime::component::types::{Component as ComponentType, ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentNamedList, Lift, Lower};

use crate::grants::Grants;
use crate::refusal::LoadReason;
use served::{EXPORTS, Export, HTTP_GRANT, IMPORTS};

/// The versions of the contract that are served, oldest first. Each has everything that those before
/// it have, so one set of bindings, that of the newest, serves them all: a component is matched with
/// what it asks for, by the rules of semantic versioning.
pub const VERSIONS: [&str; 2] = ["0.1.0", "0.1.1"];

/// The newest of them.
pub const VERSION: &str = VERSIONS[VERSIONS.len() - 1];

const PACKAGE: &str = "raddle:plugin";
const WASI_VERSION: &str = "0.2";
static WASI: [&str; 7] = [
    "cli",
    "clocks",
    "filesystem",
    "http",
    "io",
    "random",
    "sockets",
];

/// An interface that a component exports or imports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// Its full name without the version: `raddle:plugin/tools`.
    pub name: String,
    /// Its version, where it has one.
    pub version: Option<String>,
    /// Names of its functions, sorted.
    pub functions: Vec<String>,
    /// For an import that needs a grant: the line under `[plugins.ID]` that gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<&'static str>,
}

/// What a component exports and imports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Surface {
    pub(crate) exports: Vec<Interface>,
    pub(crate) imports: Vec<Interface>,
}

impl Surface {
    /// Reads the type of `component`; both lists come out sorted.
    pub(crate) fn of(component: &Component) -> Self {
        let engine = component.engine();
        let component = component.component_type();
        let mut surface = Self {
            exports: component
                .exports(engine)
                .map(|(name, item)| interface(engine, name, &item.ty))
                .collect(),
            imports: component
                .imports(engine)
                .map(|(name, item)| Interface {
                    grant: grant_line(split(name).0),
                    ..interface(engine, name, &item.ty)
                })
                .collect(),
        };
        surface.exports.sort();
        surface.imports.sort();
        surface
    }

    /// Names of the contract's interfaces it exports.
    pub(crate) fn export_names(&self) -> Vec<String> {
        self.exports
            .iter()
            .filter_map(|export| Some(contract_name(&export.name)?.to_owned()))
            .collect()
    }

    /// Names of the capabilities it imports: `workspace`, `wasi:http`.
    pub(crate) fn import_names(&self) -> Vec<String> {
        self.imports
            .iter()
            .map(|import| match contract_name(&import.name) {
                Some(name) => name,
                None => package(&import.name),
            })
            .filter(|name| *name != "types")
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// Whether it imports anything of the package `name`.
    pub(crate) fn imports_package(&self, name: &str) -> bool {
        self.imports
            .iter()
            .any(|import| package(&import.name) == name)
    }
}

/// Everything about the type of `component` that keeps it from being a plugin with `grants`.
pub(crate) fn faults(component: &Component, surface: &Surface, grants: &Grants) -> Vec<LoadReason> {
    let mut faults = Vec::new();
    for import in &surface.imports {
        import_faults(import, grants, &mut faults);
    }
    let exported = component.component_type();
    let mut contributes = false;
    for export in &surface.exports {
        if namespace(&export.name) != "raddle" {
            continue;
        }
        contributes = true;
        match EXPORTS
            .iter()
            .find(|known| contract_name(&export.name) == Some(known.name))
        {
            None => faults.push(LoadReason::UnknownExport {
                interface: full_name(export),
                served: served_exports(),
            }),
            Some(_) if !is_served(export.version.as_deref()) => {
                faults.push(LoadReason::Version {
                    verb: "exports",
                    interface: full_name(export),
                    served: served_versions(),
                });
            }
            Some(known) => {
                export_faults(component.engine(), &exported, export, known, &mut faults);
            }
        }
    }
    if !contributes {
        faults.push(LoadReason::NothingExported {
            served: served_exports(),
        });
    }
    faults
}

fn import_faults(import: &Interface, grants: &Grants, faults: &mut Vec<LoadReason>) {
    let known = contract_name(&import.name)
        .is_some_and(|name| IMPORTS.iter().any(|served| served.name == name));
    let wasi = is_wasi(&import.name);
    let version = import.version.as_deref();
    if !known && !wasi {
        faults.push(LoadReason::UnknownImport {
            interface: full_name(import),
            served: served_imports(),
        });
    } else if known && !is_served(version) {
        faults.push(LoadReason::Version {
            verb: "imports",
            interface: full_name(import),
            served: served_versions(),
        });
    } else if wasi && !version.is_some_and(is_served_wasi) {
        faults.push(LoadReason::Version {
            verb: "imports",
            interface: full_name(import),
            served: format!("{}@{WASI_VERSION}", package(&import.name)),
        });
    } else if let Some(line) = import.grant
        && !is_granted(import, grants)
    {
        let repeated = faults.iter().any(
            |fault| matches!(fault, LoadReason::NotGranted { line: other, .. } if *other == line),
        );
        if !repeated {
            faults.push(LoadReason::NotGranted {
                import: match contract_name(&import.name) {
                    Some(_) => import.name.clone(),
                    None => package(&import.name).to_owned(),
                },
                line,
            });
        }
    }
}

fn export_faults(
    engine: &Engine,
    component: &ComponentType,
    export: &Interface,
    known: &Export,
    faults: &mut Vec<LoadReason>,
) {
    let interface = full_name(export);
    let item = component.get_export(engine, &interface).map(|item| item.ty);
    let Some(ComponentItem::ComponentInstance(instance)) = item else {
        faults.push(LoadReason::NotAnInterface { interface });
        return;
    };
    for (function, check) in known.functions {
        match instance.get_export(engine, function).map(|item| item.ty) {
            Some(ComponentItem::ComponentFunc(found)) => {
                if let Err(error) = check(&found, component) {
                    faults.push(LoadReason::WrongType {
                        interface: interface.clone(),
                        function: (*function).to_owned(),
                        difference: format!("{error:#}"),
                    });
                }
            }
            _ => faults.push(LoadReason::MissingFunction {
                interface: interface.clone(),
                function: (*function).to_owned(),
            }),
        }
    }
}

/// Only the generated bindings know the types; they check a function the same way.
fn check<Parameters, Results>(
    function: &ComponentFunc,
    component: &ComponentType,
) -> wasmtime::Result<()>
where
    Parameters: ComponentNamedList + Lower,
    Results: ComponentNamedList + Lift,
{
    if function.async_() {
        return Err(wasmtime::Error::msg(
            "it is async; the contract has plain functions",
        ));
    }
    function.typecheck::<Parameters, Results>(&component.instance_type())
}

fn interface(engine: &Engine, written: &str, item: &ComponentItem) -> Interface {
    let (name, version) = split(written);
    let mut functions: Vec<String> = match item {
        ComponentItem::ComponentInstance(instance) => instance
            .exports(engine)
            .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)))
            .map(|(name, _)| name.to_owned())
            .collect(),
        _ => Vec::new(),
    };
    functions.sort();
    Interface {
        name: name.to_owned(),
        version: version.map(str::to_owned),
        functions,
        grant: None,
    }
}

fn grant_line(name: &str) -> Option<&'static str> {
    match contract_name(name) {
        Some(name) => IMPORTS.iter().find(|import| import.name == name)?.grant,
        None => (package(name) == "wasi:http").then_some(HTTP_GRANT),
    }
}

fn is_granted(import: &Interface, grants: &Grants) -> bool {
    match contract_name(&import.name) {
        Some("workspace") => !grants.workspace.is_empty(),
        Some("process") => grants.process.is_some(),
        Some("model") => grants.model.is_some(),
        Some("sessions") => grants.sessions.is_some(),
        Some(_) => true,
        None => package(&import.name) != "wasi:http" || !grants.http.is_empty(),
    }
}

fn is_served(version: Option<&str>) -> bool {
    version.is_some_and(|version| VERSIONS.contains(&version))
}

fn is_wasi(name: &str) -> bool {
    package(name)
        .strip_prefix("wasi:")
        .is_some_and(|package| WASI.contains(&package))
}

fn is_served_wasi(version: &str) -> bool {
    version
        .strip_prefix(WASI_VERSION)
        .is_some_and(|rest| rest.starts_with('.'))
}

fn served_versions() -> String {
    let versions = VERSIONS.map(|version| format!("{PACKAGE}@{version}"));
    versions.join(" and ")
}

fn served_exports() -> String {
    let names = EXPORTS.iter().map(|export| export.name);
    let names = names.collect::<Vec<_>>().join(", ");
    format!("{PACKAGE}/{{{names}}}@{VERSION}")
}

fn served_imports() -> String {
    let names = IMPORTS.iter().map(|import| import.name);
    let names = names.collect::<Vec<_>>().join(", ");
    let wasi = WASI.join(", ");
    format!("{PACKAGE}/{{{names}}}@{VERSION} and wasi:{{{wasi}}}@{WASI_VERSION}")
}

fn full_name(interface: &Interface) -> String {
    match &interface.version {
        Some(version) => format!("{}@{version}", interface.name),
        None => interface.name.clone(),
    }
}

fn split(written: &str) -> (&str, Option<&str>) {
    match written.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (written, None),
    }
}

fn package(name: &str) -> &str {
    name.split_once('/').map_or(name, |(package, _)| package)
}

fn namespace(name: &str) -> &str {
    name.split_once(':').map_or("", |(namespace, _)| namespace)
}

fn contract_name(name: &str) -> Option<&str> {
    name.strip_prefix(PACKAGE)?.strip_prefix('/')
}
