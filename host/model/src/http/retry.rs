//! How long to wait before another attempt.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use super::service::Service;
use crate::failure::Failure;

impl Service {
    /// The wait before the attempt after number `attempt`; `None` when there is none. A service
    /// that asks for more patience than is allowed has that added to the error.
    ///
    /// The wait is drawn from zero up to a bound that doubles with each attempt. A wait the
    /// service asks for is kept in full and the draw comes on top, for it asks every client the
    /// same.
    pub(super) fn wait(&self, failure: &mut Failure, attempt: u32) -> Option<Duration> {
        if !failure.retryable || attempt >= self.max_attempts {
            return None;
        }
        let bound = self
            .backoff
            .saturating_mul(2_u32.saturating_pow(attempt - 1))
            .min(self.max_wait);
        let drawn = bound.mul_f64((self.jitter)().clamp(0.0, 1.0));
        let Some(asked) = failure.asked_wait else {
            return Some(drawn);
        };
        if asked > self.max_wait {
            failure.error.message.push_str(&format!(
                "; the service asks to wait {} s before the next attempt, which is more than the \
                 {} s that are allowed",
                asked.as_secs_f64(),
                self.max_wait.as_secs_f64(),
            ));
            return None;
        }
        Some(asked + drawn)
    }
}

/// The wait a service asks for: `retry-after-ms`, or `Retry-After` as seconds or as a date
/// (RFC 9110, §10.2.3). A date counts from the service's own `Date` where it gave one, so that
/// clocks need not agree.
pub(super) fn asked_wait(
    headers: &HeaderMap,
    now: impl FnOnce() -> SystemTime,
) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok())
        && let Some(wait) = positive(milliseconds / 1000.0)
    {
        return Some(wait);
    }
    let asked = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = asked.parse::<f64>() {
        return positive(seconds);
    }
    let until = httpdate::parse_http_date(asked).ok()?;
    let from = text(DATE.as_str())
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or_else(now);
    Some(until.duration_since(from).unwrap_or_default())
}

/// Seconds as a duration; nothing for what is no wait. More than any clock can count is simply
/// very long.
fn positive(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
