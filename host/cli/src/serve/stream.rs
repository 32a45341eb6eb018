//! Events as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event as Line, KeepAlive};
use futures::Stream;
use raddle_core::session::EventData;
use serde_json::{Value, json};

use super::hub::{Feed, Told};

/// How often a stream that has nothing to tell says that it is there.
const ALIVE: Duration = Duration::from_secs(15);

/// Where a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the host.
    Never,
    /// With the answer to the next message of the user.
    Answer,
}

struct Streaming {
    feed: Feed,
    end: End,
    /// A first event that is not of the session.
    first: Option<Line>,
    /// The run of the message whose answer ends the stream.
    run: Option<u32>,
    is_over: bool,
}

/// The events of `feed`, as long as somebody listens. `unknown` is an event that was to come before
/// and never was: then everything is told, and that is said first.
pub(crate) fn stream(
    feed: Feed,
    end: End,
    unknown: Option<u64>,
) -> Sse<impl Stream<Item = Result<Line, Infallible>>> {
    let resync = |unknown| {
        let data = json!({ "unknown": unknown }).to_string();
        Line::default().event("resync").data(data)
    };
    let streaming = Streaming {
        feed,
        end,
        first: unknown.map(resync),
        run: None,
        is_over: false,
    };
    let lines = futures::stream::unfold(streaming, |mut streaming| async {
        let line = streaming.next().await?;
        Some((Ok(line), streaming))
    });
    Sse::new(lines).keep_alive(KeepAlive::new().interval(ALIVE))
}

impl Streaming {
    async fn next(&mut self) -> Option<Line> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.is_over {
            return None;
        }
        let told = match self.feed.next().await {
            Ok(told) => told?,
            Err(error) => {
                tracing::error!(%error, "the log cannot be read");
                return None;
            }
        };
        if self.end == End::Answer {
            self.look_for_the_end(&told);
        }
        Some(line(&told))
    }

    fn look_for_the_end(&mut self, told: &Told) {
        let event = &told.event;
        match &event.data {
            EventData::UserMessage { .. } if self.run.is_none() => self.run = Some(event.run),
            EventData::Done { .. } => self.is_over = self.run == Some(event.run),
            // The session itself failed.
            EventData::Error { .. } => self.is_over = event.seq == 0,
            _ => {}
        }
    }
}

/// An event as it is sent: its number is the id; what is not logged has none.
fn line(told: &Told) -> Line {
    let event = &*told.event;
    let mut value = serde_json::to_value(event).unwrap_or_default();
    if let (Some(at), Some(data)) = (
        told.at,
        value.get_mut("data").and_then(Value::as_object_mut),
    ) {
        data.insert("at".to_owned(), at.into());
    }
    let kind = value.get("type").and_then(Value::as_str);
    let line = Line::default().event(kind.unwrap_or("event"));
    let line = match event.seq {
        0 => line,
        seq => line.id(seq.to_string()),
    };
    line.data(value.to_string())
}
