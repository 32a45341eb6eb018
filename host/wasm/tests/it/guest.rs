//! Guests for tests: a world in WIT and a core module in text become a component, the way a
//! guest language's tools make one.

use std::path::PathBuf;
use std::sync::Arc;

use raddle_core::message::ToolCall;
use raddle_core::plugins::{
    Caller, Context, Fault, Invocation, Outcome, Plugin, PluginError, Question,
};
use raddle_wasm::grants::Grants;
use raddle_wasm::{
    ComponentSource, Limits, LoadFault, Loaded, PluginSpec, Runtime, RuntimeSettings,
};
use serde_json::json;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

/// A guest under construction.
#[derive(Clone)]
pub(crate) struct Guest {
    memory: String,
    realloc: String,
    world: String,
    imports: String,
    functions: String,
    edits: Vec<(&'static str, &'static str)>,
    packages: Vec<&'static str>,
}

/// The arguments of every `offer`: an environment, flattened.
const ENVIRONMENT: &str = "(param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)";

/// Takes what comes next, and grows the memory for it.
const REALLOC: &str = "
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (loop $more
        (if (i32.gt_u (global.get $free) (i32.mul (memory.size) (i32.const 65536)))
            (then (drop (memory.grow (i32.const 1))) (br $more))))
    (local.get $at)";

impl Guest {
    pub(crate) fn new() -> Self {
        Self {
            memory: "2".to_owned(),
            realloc: REALLOC.to_owned(),
            world: String::new(),
            imports: String::new(),
            functions: String::new(),
            edits: Vec::new(),
            packages: Vec::new(),
        }
    }

    /// Initial, and perhaps maximal, pages of its memory.
    pub(crate) fn memory(mut self, pages: &str) -> Self {
        self.memory = pages.to_owned();
        self
    }

    /// Other instructions for the function that makes room for what the host passes.
    pub(crate) fn realloc(mut self, instructions: &str) -> Self {
        self.realloc = instructions.to_owned();
        self
    }

    /// Exports `interface` of the contract.
    pub(crate) fn export(mut self, interface: &str) -> Self {
        self.world += &format!("export raddle:plugin/{interface}@0.1.1;\n");
        self
    }

    /// Imports `interface` of the contract.
    pub(crate) fn import(mut self, interface: &str) -> Self {
        self.world += &format!("import raddle:plugin/{interface}@0.1.1;\n");
        self
    }

    /// Any line of the world.
    pub(crate) fn world(mut self, line: &str) -> Self {
        self.world += line;
        self
    }

    /// Imports a core function: `(import "raddle:plugin/log@0.1.1" "write" (func …))`.
    pub(crate) fn core_import(mut self, text: &str) -> Self {
        self.imports += text;
        self.imports.push('\n');
        self
    }

    /// Adds any text to the core module.
    pub(crate) fn core(mut self, text: &str) -> Self {
        self.functions += text;
        self.functions.push('\n');
        self
    }

    /// Packages that the world may use beside the contract.
    pub(crate) fn package(mut self, text: &'static str) -> Self {
        self.packages.push(text);
        self
    }

    /// Replaces text in the contract before the guest is built against it.
    pub(crate) fn edit(mut self, from: &'static str, to: &'static str) -> Self {
        self.edits.push((from, to));
        self
    }

    /// Exports an `offer` of `interface` whose instructions return the address of a result.
    pub(crate) fn offer(self, interface: &str, instructions: &str) -> Self {
        let name = format!("raddle:plugin/{interface}@0.1.1#offer");
        self.export(interface).core(&format!(
            r#"(func (export "{name}") {ENVIRONMENT} (result i32) {instructions})"#
        ))
    }

    /// Exports a function of `interface` with the core type `kind`.
    pub(crate) fn function(
        self,
        interface: &str,
        function: &str,
        kind: &str,
        instructions: &str,
    ) -> Self {
        let name = format!("raddle:plugin/{interface}@0.1.1#{function}");
        self.core(&format!(
            r#"(func (export "{name}") {kind} {instructions})"#
        ))
    }

    /// Sections that offer one computed section, and render what the instructions return: the
    /// address of a result.
    pub(crate) fn rendering(self, instructions: &str) -> Self {
        self.offer("sections", "(i32.const 0)").function(
            "sections",
            "render",
            "(param i32) (result i32)",
            instructions,
        )
    }

    /// Tools that offer none, and answer a call with what the instructions return: the address
    /// of a result.
    pub(crate) fn calling(self, instructions: &str) -> Self {
        self.offer("tools", "(i32.const 0)").function(
            "tools",
            "call",
            "(param i32) (result i32)",
            instructions,
        )
    }

    /// The component. Address 0 holds the result "an empty list"; memory from 1024 to 65536 is
    /// for the guest's own text, and what the host passes goes above.
    pub(crate) fn build(&self) -> Vec<u8> {
        let module = format!(
            r#"(module
                {imports}
                (memory (export "memory") {memory})
                (global $free (mut i32) (i32.const 65536))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
                {functions})"#,
            imports = self.imports,
            memory = self.memory,
            realloc = self.realloc,
            functions = self.functions
        );
        self.encode(wat::parse_str(&module).unwrap())
    }

    /// A component that has everything its world asks for, and traps in all of it.
    pub(crate) fn dummy(&self) -> Vec<u8> {
        let (resolve, world) = self.resolve();
        let mangling = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);
        self.encode(wit_component::dummy_module(&resolve, world, mangling))
    }

    /// A component around a core module of one's own.
    pub(crate) fn encode(&self, mut module: Vec<u8>) -> Vec<u8> {
        let (resolve, world) = self.resolve();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false)
            .unwrap();
        ComponentEncoder::default()
            .module(&module)
            .unwrap()
            .validate(true)
            .encode()
            .unwrap()
    }

    fn resolve(&self) -> (Resolve, wit_parser::WorldId) {
        let mut resolve = Resolve::default();
        let mut files: Vec<_> = std::fs::read_dir(contract())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "wit"))
            .collect();
        files.sort();
        let mut package = "package raddle:plugin@0.1.1;\n".to_owned();
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            package += &text.replace("package raddle:plugin@0.1.1;", "");
        }
        for (from, to) in &self.edits {
            assert!(package.contains(from), "the contract has no `{from}`");
            package = package.replace(from, to);
        }
        resolve.push_str("contract.wit", &package).unwrap();
        let world = format!(
            "package test:guest;\n{}\nworld guest {{\n{}}}\n",
            self.packages.concat(),
            self.world
        );
        let package = resolve.push_str("guest.wit", &world).unwrap();
        let world = resolve.select_world(&[package], Some("guest")).unwrap();
        (resolve, world)
    }
}

fn contract() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../wit")
}

/// A data segment with `text`.
pub(crate) fn data(at: usize, text: &str) -> String {
    let bytes: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    format!(r#"(data (i32.const {at}) "{bytes}")"#)
}

/// Numbers as a data segment of 32-bit words.
pub(crate) fn words(at: usize, words: &[u32]) -> String {
    let bytes: String = words
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .map(|byte| format!("\\{byte:02x}"))
        .collect();
    format!(r#"(data (i32.const {at}) "{bytes}")"#)
}

/// A runtime without a cache, shared by the tests: a runtime reserves a pool.
pub(crate) fn runtime() -> Runtime {
    static RUNTIME: std::sync::OnceLock<Runtime> = std::sync::OnceLock::new();
    RUNTIME
        .get_or_init(|| Runtime::new(&RuntimeSettings::default()).unwrap())
        .clone()
}

pub(crate) fn spec(id: &str, component: impl Into<Vec<u8>>) -> PluginSpec {
    PluginSpec {
        id: id.to_owned(),
        source: format!("test:{id}"),
        component: ComponentSource::Bytes(component.into().into()),
        digest: None,
        settings: json!({}),
        directory: std::env::temp_dir(),
        grants: Grants::default(),
        limits: Limits::default(),
    }
}

pub(crate) async fn load(component: impl Into<Vec<u8>>) -> Arc<dyn Plugin> {
    load_spec(spec("guest", component)).await
}

pub(crate) async fn load_spec(spec: PluginSpec) -> Arc<dyn Plugin> {
    let Loaded {
        mut plugins,
        faults,
    } = runtime().load(vec![spec], &()).await;
    assert_eq!(faults, []);
    plugins.remove(0)
}

pub(crate) async fn faults(component: impl Into<Vec<u8>>) -> Vec<LoadFault> {
    let loaded = runtime().load(vec![spec("guest", component)], &()).await;
    assert!(loaded.plugins.is_empty());
    loaded.faults
}

/// Asks for the section `name`.
pub(crate) async fn render(
    plugin: &dyn Plugin,
    caller: &Caller,
) -> Result<Option<String>, PluginError> {
    let questions = [Question::Section("text".to_owned())];
    plugin
        .answer(&questions, &Context::default(), caller)
        .await
        .map(|mut answers| answers.remove(0))
}

/// Calls a tool.
pub(crate) async fn call(plugin: &dyn Plugin, caller: &Caller) -> Result<Outcome, PluginError> {
    let invocation = Invocation {
        call: ToolCall {
            id: "call-1".to_owned(),
            name: "tool".to_owned(),
            arguments: "{}".to_owned(),
        },
        batch: Vec::new(),
    };
    plugin.call(&invocation, &Context::default(), caller).await
}

/// The fault of a call that must not end well.
pub(crate) fn fault<T: std::fmt::Debug>(result: Result<T, PluginError>) -> Fault {
    let error = result.unwrap_err();
    assert_eq!(error.plugin, "guest", "{error}");
    error.fault
}

/// The messages of all faults.
pub(crate) async fn messages(component: impl Into<Vec<u8>>) -> Vec<String> {
    faults(component)
        .await
        .iter()
        .map(ToString::to_string)
        .collect()
}
