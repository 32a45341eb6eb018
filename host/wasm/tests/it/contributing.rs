//! What plugins contribute and answer, and what they are told.

use raddle_core::message::ToolCall;
use raddle_core::plugins::{
    Agent, Caller, Content, Context, Entry, Environment, Fact, Guidance, Invocation, Lifetime,
    Outcome, Question, Section, Tool, Variable,
};
use raddle_wasm::grants::{Access, Directory, Grants, ProcessGrant, WorkspaceGrant};
use serde_json::json;

use crate::guest::{Guest, data, load, load_spec, render, spec, words};

const UNREACHABLE: &str = "(unreachable)";
const BY_ADDRESS: &str = "(param i32) (result i32)";

#[tokio::test]
async fn everything_that_can_be_contributed_is() {
    // A result and the list it holds, then the list's one record, for each of the four.
    let guest = Guest::new()
        .core(&data(
            2000,
            "greetHello therespecialhammerHits.{}titleHammer",
        ))
        .core(&words(1024, &[0, 1040, 1]))
        .core(&words(1040, &[2000, 5, 5, 0x0101, 0, 2005, 11]))
        .core(&words(1072, &[0, 1088, 1]))
        .core(&words(1088, &[2016, 7, 3, 1, 0, 0]))
        .core(&words(1120, &[0, 1136, 1]))
        .core(&words(
            1136,
            &[2023, 6, 2029, 5, 2034, 2, 1, 105, 2005, 11, 1200, 1],
        ))
        .core(&words(1200, &[2036, 5, 2041, 6]))
        .core(&words(1232, &[0, 1248, 1]))
        .core(&words(
            1248,
            &[
                2000, 5, 2005, 5, 1, 2016, 7, 1340, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1200, 1,
            ],
        ))
        .core(&words(1340, &[2023, 6]))
        .offer("sections", "(i32.const 1024)")
        .function("sections", "render", BY_ADDRESS, UNREACHABLE)
        .offer("variables", "(i32.const 1072)")
        .function("variables", "resolve", BY_ADDRESS, UNREACHABLE)
        .offer("tools", "(i32.const 1120)")
        .function("tools", "call", BY_ADDRESS, UNREACHABLE)
        .offer("agents", "(i32.const 1232)")
        .function("agents", "load", BY_ADDRESS, UNREACHABLE);
    let plugin = load(guest.build()).await;
    let offer = plugin.offer(&Environment::default()).await.unwrap();
    let title = Fact {
        name: "title".to_owned(),
        value: "Hammer".to_owned(),
    };
    assert_eq!(
        offer.sections,
        [Section {
            name: "greet".to_owned(),
            order: 5,
            verbatim: true,
            lifetime: Lifetime::Session,
            content: Content::Fixed("Hello there".to_owned()),
        }]
    );
    assert_eq!(
        offer.variables,
        [Variable {
            name: "special".to_owned(),
            lifetime: Lifetime::Step,
            content: Content::Computed,
        }]
    );
    assert_eq!(
        offer.tools,
        [Tool {
            name: "hammer".to_owned(),
            description: "Hits.".to_owned(),
            parameters: json!({}),
            guidance: Some(Guidance {
                order: 105,
                text: "Hello there".to_owned(),
            }),
            hints: vec![title.clone()],
        }]
    );
    assert_eq!(
        offer.agents,
        [Agent {
            name: "greet".to_owned(),
            description: "Hello".to_owned(),
            model: Some("special".to_owned()),
            tools: vec!["hammer".to_owned()],
            handoffs: Vec::new(),
            skills: Vec::new(),
            variants: Vec::new(),
            intents: Vec::new(),
            metadata: vec![title],
        }]
    );
    let info = plugin.info();
    assert_eq!(info.exports, ["agents", "sections", "tools", "variables"]);
    assert_eq!(info.imports, [""; 0]);
    assert_eq!((&*info.id, &*info.source), ("guest", "test:guest"));
}

#[tokio::test]
async fn a_component_that_has_the_whole_contract_loads() {
    let mut guest = Guest::new();
    for export in ["sections", "variables", "tools", "agents", "settings"] {
        guest = guest.export(export);
    }
    for import in [
        "log",
        "settings-host",
        "session-state",
        "progress",
        "workspace",
        "process",
    ] {
        guest = guest.import(import);
    }
    // It traps in everything, also when asked what its settings are.
    let mut whole = spec("guest", guest.dummy());
    whole.grants = Grants {
        workspace: vec![WorkspaceGrant {
            directory: Directory::Session,
            access: Access::ReadWrite,
        }],
        process: Some(ProcessGrant {
            programs: vec!["true".to_owned()],
            directory: Directory::Session,
            environment: Vec::new(),
            ..ProcessGrant::default()
        }),
        ..Grants::default()
    };
    let loaded = crate::guest::runtime().load(vec![whole], &()).await;
    assert_eq!(loaded.faults.len(), 1);
    assert!(
        loaded.faults[0].to_string().starts_with(
            "plugin `guest` cannot say what its settings are: plugin `guest`, settings.describe: \
             trapped: "
        ),
        "{}",
        loaded.faults[0]
    );
}

#[tokio::test]
async fn a_plugin_sees_what_is_present() {
    // Offers a section named as the first agent, with the first fact's value as its text.
    let guest = Guest::new()
        .core(&words(1024, &[0, 1040, 1]))
        .offer(
            "sections",
            "(i64.store (i32.const 1040) (i64.load align=4 (local.get 0)))
            (i64.store (i32.const 1060) (i64.load offset=8 align=4 (local.get 10)))
            (i32.const 1024)",
        )
        .function("sections", "render", BY_ADDRESS, UNREACHABLE);
    let plugin = load(guest.build()).await;
    let environment = Environment {
        agents: vec![Entry {
            name: "coder".to_owned(),
            description: "Codes.".to_owned(),
        }],
        providers: Vec::new(),
        tools: Vec::new(),
        facts: vec![Fact {
            name: "platform".to_owned(),
            value: "linux".to_owned(),
        }],
    };
    let offer = plugin.offer(&environment).await.unwrap();
    assert_eq!(offer.sections[0].name, "coder");
    assert_eq!(
        offer.sections[0].content,
        Content::Fixed("linux".to_owned())
    );
}

#[tokio::test]
async fn questions_carry_their_name_and_context() {
    // Sections answer with their name, variables with the session's id, agents with the time.
    let echo = |offset: u32, option: bool| {
        let at = if option { 1032 } else { 1028 };
        let some = u32::from(option);
        format!(
            "(i32.store (i32.const 1024) (i32.const 0))
            (i32.store (i32.const 1028) (i32.const {some}))
            (i64.store align=4 (i32.const {at})
                (i64.load offset={offset} align=4 (local.get 0)))
            (i32.const 1024)"
        )
    };
    let nothing = "(i32.const 0)";
    let guest = Guest::new()
        .offer("sections", nothing)
        .function("sections", "render", BY_ADDRESS, &echo(0, true))
        .offer("variables", nothing)
        .function("variables", "resolve", BY_ADDRESS, &echo(48, true))
        .offer("agents", nothing)
        .function("agents", "load", BY_ADDRESS, &echo(88, false));
    let plugin = load(guest.build()).await;
    let context = Context {
        agent: Some("coder".to_owned()),
        session: Some("s-1".to_owned()),
        cwd: Some("/work".to_owned()),
        turn: Some(2),
        now: Some("2026-01-01T00:00:00Z".to_owned()),
        ..Context::default()
    };
    let questions = [
        Question::Section("tool:hammer".to_owned()),
        Question::Variable("session".to_owned()),
        Question::Agent("coder".to_owned()),
    ];
    let answers = plugin
        .answer(&questions, &context, &Caller::default())
        .await
        .unwrap();
    let answers: Vec<_> = answers.into_iter().flatten().collect();
    assert_eq!(answers, ["tool:hammer", "s-1", "2026-01-01T00:00:00Z"]);
}

#[tokio::test]
async fn a_call_carries_its_arguments_and_answers_with_a_reply() {
    // The result and the outcome take a word each, then the reply: text, attachments, details,
    // artifact, terminate, facts.
    let mut reply = [0; 22];
    (reply[6], reply[7], reply[8]) = (1, 1200, 7);
    (reply[19], reply[20], reply[21]) = (1, 1220, 1);
    let guest = Guest::new()
        .core(&words(1024, &reply))
        .core(&data(1200, r#"{"a":1}yes"#))
        .core(&words(1220, &[1207, 3, 1207, 3]))
        .calling(
            "(i64.store (i32.const 1032) (i64.load offset=16 align=4 (local.get 0)))
            (i32.const 1024)",
        );
    let plugin = load(guest.build()).await;
    let invocation = Invocation {
        call: ToolCall {
            id: "call-7".to_owned(),
            name: "hammer".to_owned(),
            arguments: r#"{"nail":"big"}"#.to_owned(),
        },
        batch: vec![ToolCall {
            id: "call-8".to_owned(),
            name: "saw".to_owned(),
            arguments: "{}".to_owned(),
        }],
    };
    let outcome = plugin
        .call(&invocation, &Context::default(), &Caller::default())
        .await
        .unwrap();
    let Outcome::Done(reply) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(reply.text, r#"{"nail":"big"}"#);
    assert_eq!(reply.details, Some(json!({ "a": 1 })));
    assert!(reply.terminate);
    assert_eq!(reply.facts[0].name, "yes");
}

#[tokio::test]
async fn a_call_may_need_the_user() {
    let guest = Guest::new()
        .core(&words(1024, &[0, 1, 0, 0, 1100, 9]))
        .core(&data(1100, "Continue?"))
        .calling("(i32.const 1024)");
    let plugin = load(guest.build()).await;
    let outcome = crate::guest::call(&*plugin, &Caller::default()).await;
    assert_eq!(
        outcome,
        Ok(Outcome::NeedsUser {
            title: "Continue?".to_owned()
        })
    );
}

#[tokio::test]
async fn instances_of_one_component_differ_by_their_ids() {
    let component = Guest::new().rendering(UNREACHABLE).build();
    let one = load_spec(spec("one", component.clone())).await;
    let two = load_spec(spec("two", component)).await;
    assert_eq!(one.info().digest, two.info().digest);
    for (plugin, id) in [(one, "one"), (two, "two")] {
        let error = render(&*plugin, &Caller::default()).await.unwrap_err();
        assert_eq!(error.plugin, id);
    }
}

#[tokio::test]
async fn a_component_may_export_more_than_the_contract() {
    let guest = Guest::new()
        .world("export extra: func() -> u32;\n")
        .core(r#"(func (export "extra") (result i32) (i32.const 1))"#)
        .rendering("(i32.const 0)");
    let plugin = load(guest.build()).await;
    assert_eq!(plugin.info().exports, ["sections"]);
}
