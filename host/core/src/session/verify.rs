//! "Model-visible means logged": every request can be rebuilt from the log alone.

use crate::digest::Digest;
use crate::provider::{Provider, Request, ToolSchema};
use crate::session::{EventData, Generation, Transcript};
use crate::store::{Store, StoreError};

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Requests rebuilt.
    pub requests: usize,
    /// Damaged events, and requests whose bytes differ from those that were sent for no damage
    /// before them.
    pub mismatches: Vec<Mismatch>,
}

/// A request that cannot be rebuilt as it was sent, or damage that keeps requests from being
/// rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The answer's event, or the damaged one.
    pub seq: u64,
    /// What differs, or what is damaged.
    pub reason: String,
}

/// Rebuilds every answered request of `session` from its log and compares it, byte for byte by
/// digest, with what was sent. An event of a newer release is no fault; if a request holds what it
/// said, that request differs.
pub async fn verify(
    store: &dyn Store,
    provider: &dyn Provider,
    session: &str,
) -> Result<Verification, StoreError> {
    let mut conversation = provider.conversation();
    let mut transcript = Transcript::default();
    let mut head: Option<Head> = None;
    let mut revision = 0;
    let mut found = Verification {
        requests: 0,
        mismatches: Vec::new(),
    };
    let mut damaged = false;
    for entry in store.entries(session, 0).await? {
        let event = match entry {
            Ok(event) => event,
            Err(unreadable) => {
                if unreadable.is_damage() {
                    damaged = true;
                    found.mismatches.push(Mismatch {
                        seq: unreadable.seq,
                        reason: unreadable.reason,
                    });
                }
                continue;
            }
        };
        match &event.data {
            EventData::Generation(generation) => {
                revision += 1;
                head = Head::read(store, generation).await?;
            }
            EventData::Compacted(_) => revision += 1,
            EventData::AssistantMessage { request, .. } => {
                found.requests += 1;
                let rebuilt = head.as_ref().map(|head| {
                    conversation
                        .encode(&head.request(&transcript, session, revision))
                        .digest
                });
                // What differs after damage differs because of it, and is not told again.
                if let Some(reason) = difference(*request, rebuilt).filter(|_| !damaged) {
                    found.mismatches.push(Mismatch {
                        seq: event.seq,
                        reason,
                    });
                }
            }
            _ => {}
        }
        transcript.apply(&event);
    }
    Ok(found)
}

struct Head {
    generation: Generation,
    system: String,
    tools: Vec<ToolSchema>,
}

impl Head {
    /// `None` when a text is missing or does not parse: the request cannot be rebuilt.
    async fn read(store: &dyn Store, generation: &Generation) -> Result<Option<Self>, StoreError> {
        let system = store.text(generation.system).await?;
        let tools = store.text(generation.tools).await?;
        Ok(system.zip(tools).and_then(|(system, tools)| {
            Some(Self {
                generation: generation.clone(),
                system,
                tools: serde_json::from_str(&tools).ok()?,
            })
        }))
    }

    fn request<'a>(
        &'a self,
        transcript: &'a Transcript,
        session: &'a str,
        revision: u64,
    ) -> Request<'a> {
        Request {
            model: &self.generation.model,
            system: &self.system,
            tools: &self.tools,
            messages: transcript.messages(),
            revision,
            cache_key: session,
            options: &self.generation.options,
            max_tokens: None,
        }
    }
}

fn difference(sent: Digest, rebuilt: Option<Digest>) -> Option<String> {
    match rebuilt {
        None => Some("the prompt it was sent with is not in the log".to_owned()),
        Some(rebuilt) if rebuilt != sent => Some(format!("sent {sent}, rebuilt {rebuilt}")),
        Some(_) => None,
    }
}
