//! Faults of the runtime itself.

use raddle_sdk::include_prompt;
use raddle_sdk::inject::{Injection, Source};
use raddle_sdk::watchers::RuntimeFault;

/// The update that tells of a fault.
pub fn update(fault: &RuntimeFault) -> Injection {
    let summary = include_prompt!("fault.md");
    Injection {
        id: format!("fault-{}", fault.id),
        kind: "system_update".to_owned(),
        occurred_at: None,
        source: Source::Server,
        delivery: None,
        requires_decision: false,
        summary: summary
            .replace("CODE", &fault.code)
            .replace("MESSAGE", &fault.message),
        dedupe_key: None,
        subject: None,
        origin: None,
        details: None,
    }
}
