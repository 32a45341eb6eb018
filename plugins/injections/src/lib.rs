//! Standard plugin `injections`: the seven kinds of injections of `gamma-harness-design.txt`, and
//! what each means.

use raddle_sdk::injections::{Coalescing, Delivery, Kind};
use raddle_sdk::sections::Section;
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments, include_prompt, inject};
use serde::Deserialize;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: sections, injections, tools);

/// Of the section about all kinds; theirs follow.
const ORDER: i32 = 210;

impl raddle_sdk::sections::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
        let section = Section::fixed("injections", ORDER, include_prompt!("injections.md"));
        Ok(vec![section.verbatim()])
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}

impl raddle_sdk::injections::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Kind>, Error> {
        Ok(kinds())
    }
}

/// Arguments of the tool.
#[derive(Deserialize)]
struct Dismissal {
    id: String,
    reason: String,
}

impl raddle_sdk::tools::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![Tool {
            name: "dismiss_update".to_owned(),
            description: include_prompt!("tool.md").to_owned(),
            parameters: include_prompt!("parameters.json").to_owned(),
            guidance: None,
            hints: vec![
                Fact::new("title", "Dismiss an update"),
                Fact::new("kind", "other"),
                // It changes nothing but the update's own receipt.
                Fact::new("read-only", "true"),
                Fact::new("protocol", "true"),
            ],
        }])
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let Dismissal { id, reason } = arguments(&invocation.call)?;
        let receipt = inject::dismiss(&id, &reason)?;
        Ok(Outcome::Done(Reply::text(format!(
            "{} is dismissed",
            receipt.id
        ))))
    }
}

/// The kinds, in the order of their sections.
pub fn kinds() -> Vec<Kind> {
    use Coalescing::{KeepAll, SameKind, SameSubject};
    use Delivery::{FollowUp, NextTurn, Steer};
    let kind = |name: &str, meaning: &str, delivery, coalescing| Kind {
        name: name.to_owned(),
        meaning: meaning.to_owned(),
        order: ORDER,
        delivery,
        coalescing,
        passive: delivery != Steer,
        attributed: name == "artifact_update",
    };
    let mut kinds = vec![
        kind(
            "system_note",
            include_prompt!("system_note.md"),
            NextTurn,
            KeepAll,
        ),
        kind(
            "system_guidance",
            include_prompt!("system_guidance.md"),
            Steer,
            KeepAll,
        ),
        kind(
            "system_update",
            include_prompt!("system_update.md"),
            Steer,
            KeepAll,
        ),
        kind(
            "client_view",
            include_prompt!("client_view.md"),
            NextTurn,
            SameKind,
        ),
        kind(
            "artifact_update",
            include_prompt!("artifact_update.md"),
            Steer,
            SameSubject,
        ),
        kind(
            "workspace_update",
            include_prompt!("workspace_update.md"),
            Steer,
            SameSubject,
        ),
        kind(
            "background_result",
            include_prompt!("background_result.md"),
            FollowUp,
            SameSubject,
        ),
    ];
    for (kind, order) in kinds.iter_mut().zip(ORDER + 1..) {
        kind.order = order;
    }
    kinds
}
