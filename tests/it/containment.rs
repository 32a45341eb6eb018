//! A plugin that keeps failing is given up, the model and the operator are told, and a session that
//! does not use it never notices.

use std::sync::Arc;

use raddle_core::agent::Cancel;
use raddle_core::plugins::Plugin;
use raddle_core::session::{EndCause, EventData};
use raddle_wasm::{ComponentSource, Limits, PluginSpec, Runtime, RuntimeSettings};
use serde_json::json;

use crate::support::{Model, Stage, Turn};

async fn plugins(components: &[(&str, std::path::PathBuf)]) -> Vec<Arc<dyn Plugin>> {
    let runtime = Runtime::new(&RuntimeSettings::default()).unwrap();
    let specs = components.iter().map(|(id, file)| PluginSpec {
        id: (*id).to_owned(),
        source: format!("test:{id}"),
        component: ComponentSource::File(file.clone()),
        digest: None,
        settings: json!({}),
        directory: std::env::temp_dir(),
        grants: Default::default(),
        limits: Limits {
            strikes: 3,
            ..Limits::default()
        },
    });
    let loaded = runtime.load(specs.collect(), &()).await;
    assert_eq!(loaded.faults, []);
    loaded.plugins
}

#[tokio::test]
async fn a_plugin_that_keeps_failing_is_given_up_and_that_is_told() {
    let components = [
        ("fickle", raddle_tests::guest("fickle")),
        ("injections", raddle_tests::standard("injections")),
    ];
    let mut stage = Stage::with([]);
    stage.plugins = plugins(&components).await;
    let fail = || Turn::Call(vec![("fickle", r#"{"fail": true}"#)]);
    let work = || Turn::Call(vec![("fickle", r#"{"fail": false}"#)]);
    let model = Model::told([
        fail(),
        work(),
        fail(),
        fail(),
        fail(),
        work(),
        Turn::Say("end"),
    ]);
    let mut agent = stage.start(&model).await;
    let cause = agent.run("Go.", &Cancel::new()).await.unwrap();
    assert_eq!(cause, EndCause::Answered);
    let codes: Vec<String> = stage
        .seen
        .results()
        .iter()
        .map(|result| {
            let record = serde_json::from_str::<serde_json::Value>(result).ok();
            let code = record.and_then(|record| Some(record["code"].as_str()?.to_owned()));
            code.unwrap_or_else(|| result.clone())
        })
        .collect();
    let fault = "plugin-fault";
    let given_up = "plugin-quarantined";
    assert_eq!(codes, [fault, "worked", fault, fault, fault, given_up]);
    let told = stage.seen.all();
    let told = told.iter().filter(
        |event| matches!(event, EventData::PluginQuarantined { plugin } if plugin == "fickle"),
    );
    assert_eq!(told.count(), 1);

    // Nobody else notices: the other plugin of the deployment goes on.
    model.then([Turn::Say("still here")]);
    let cause = agent.run("And now?", &Cancel::new()).await.unwrap();
    assert_eq!(cause, EndCause::Answered);
}
