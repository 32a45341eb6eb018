//! What is served, and how it is asked for.

use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use raddle_core::session::injection::Injection;
use raddle_core::store::SessionSummary;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, OpenApi, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::access::Client;
use super::host::Host;
use super::metrics::Status;
use super::problem::Problem;
use super::stream::{End, stream};
use crate::commands::inject;
use crate::config::Scope;

type Shared = State<Arc<Host>>;

/// Characters of the longest message.
const LONGEST_MESSAGE: usize = 400_000;

/// Sessions that one page of the list has at most.
const PAGE: usize = 200;

#[derive(OpenApi)]
#[openapi(info(
    title = "Raddle",
    description = "Conversations with the agent of one deployment. Where the deployment has tokens, \
                   requests carry one: `Authorization: Bearer TOKEN`."
))]
struct Description;

/// A message to the agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Converse {
    /// The session to go on with; without it a new one begins.
    session: Option<String>,
    /// The prompt variant of a new session.
    variant: Option<String>,
    /// What the user says.
    #[schema(min_length = 1, max_length = 400_000)]
    message: String,
}

/// Which events of a session.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct From {
    /// Those after this number; 0 for all. `Last-Event-ID` is stronger.
    after: Option<u64>,
}

/// A part of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Page {
    /// How many to leave out, of the newest.
    #[param(minimum = 0)]
    skip: Option<usize>,
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Session {
    id: String,
    /// RFC 3339, UTC.
    created: String,
    /// The session that started it, of a child.
    parent: Option<String>,
    variant: String,
    /// The name of the token that began it.
    owner: Option<String>,
    /// Whether a run is under way.
    running: bool,
    /// The first words of the user, in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Number of events, in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<u64>,
}

/// What became of an injection.
#[derive(Debug, Serialize, ToSchema)]
struct Receipt {
    id: String,
    /// `queued`, or what became of it before.
    receipt: String,
}

/// Whether a run was cancelled.
#[derive(Debug, Serialize, ToSchema)]
struct Cancelled {
    cancelled: bool,
}

/// Everything that is served.
pub(crate) fn router(host: &Arc<Host>) -> Router {
    let (router, description) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(converse))
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(events))
        .routes(routes!(cancel))
        .routes(routes!(inject))
        .routes(routes!(health))
        .routes(routes!(metrics))
        .split_for_parts();
    let description = Arc::new(description);
    let described = async move || Json(description.as_ref().clone());
    router
        .route("/api/openapi.json", axum::routing::get(described))
        .fallback(async || Problem::missing("nothing is served at this path"))
        .method_not_allowed_fallback(async || {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let title = "the method is wrong";
            Problem::new(status, "method", title, "this path is asked in another way")
        })
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(host),
            count,
        ))
        .with_state(Arc::clone(host))
}

async fn count(State(host): Shared, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status().as_u16();
    host.metrics
        .requests
        .get_or_create(&Status { status })
        .inc();
    response
}

impl FromRequestParts<Arc<Host>> for Client {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        host: &Arc<Host>,
    ) -> Result<Self, Self::Rejection> {
        host.access.client(&parts.headers)
    }
}

/// Says something to the agent and follows what it does, up to its answer. The run goes on when the
/// connection is lost: `GET /api/sessions/{id}/events` follows it again.
#[utoipa::path(post, path = "/api/converse", request_body = Converse, responses(
    (status = 200, content_type = "text/event-stream", body = String,
     description = "The events of the run: `event` is the type, `id` the number, `data` the event. \
                    The last is `done`."),
    (status = "4XX", content_type = "application/problem+json", body = Problem),
    (status = "5XX", content_type = "application/problem+json", body = Problem),
))]
async fn converse(
    State(host): Shared,
    client: Client,
    body: Result<Json<Converse>, JsonRejection>,
) -> Result<Response, Problem> {
    client.must_have(&[Scope::Converse])?;
    let Converse {
        session,
        variant,
        message,
    } = read(body)?;
    if message.trim().is_empty() {
        return Err(Problem::invalid("`message` is empty"));
    }
    if message.chars().count() > LONGEST_MESSAGE {
        let detail = format!("`message` is over {LONGEST_MESSAGE} characters");
        return Err(Problem::invalid(detail));
    }
    let id = match session {
        Some(id) => {
            if variant.is_some() {
                let detail = "`variant` is for a new session: this one has its own";
                return Err(Problem::invalid(detail));
            }
            let header = host.header(&client, &id, false).await?;
            if header.parent.is_some() {
                let detail = "the session is a child: its parent talks to it";
                return Err(Problem::conflict("child", detail));
            }
            id
        }
        None if *host.closing.borrow() => return Err(Problem::closing()),
        None => host.start(&client, variant.as_deref()).await?,
    };
    let feed = host.say(&id, message).await?;
    Ok(stream(feed, End::Answer, None).into_response())
}

/// The sessions, newest first: one's own, or all of the deployment with the scope `inspect`.
#[utoipa::path(get, path = "/api/sessions", params(Page), responses(
    (status = 200, body = Vec<Session>),
    (status = "4XX", content_type = "application/problem+json", body = Problem),
    (status = "5XX", content_type = "application/problem+json", body = Problem),
))]
async fn list(
    State(host): Shared,
    client: Client,
    page: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Vec<Session>>, Problem> {
    client.must_have(&[Scope::Converse, Scope::Inspect])?;
    let page = query(page)?;
    let sessions = host.store().sessions().await?;
    let seen = sessions.into_iter().filter(|session| {
        let owner = session.header.owner.as_deref();
        host.is_ours(&session.header) && (client.has(Scope::Inspect) || client.owns(owner))
    });
    let mut list = Vec::new();
    for summary in seen.skip(page.skip.unwrap_or(0)).take(PAGE) {
        let running = host.is_running(&summary.header.id).await;
        list.push(Session {
            title: Some(summary.title.clone().unwrap_or_default()),
            events: Some(summary.events),
            ..session(summary, running)
        });
    }
    Ok(Json(list))
}

/// One session.
#[utoipa::path(get, path = "/api/sessions/{id}", params(("id" = String, Path)), responses(
    (status = 200, body = Session),
    (status = "4XX", content_type = "application/problem+json", body = Problem),
    (status = "5XX", content_type = "application/problem+json", body = Problem),
))]
async fn show(
    State(host): Shared,
    client: Client,
    Path(id): Path<String>,
) -> Result<Json<Session>, Problem> {
    client.must_have(&[Scope::Converse, Scope::Inspect])?;
    let header = host
        .header(&client, &id, client.has(Scope::Inspect))
        .await?;
    let running = host.is_running(&id).await;
    let summary = SessionSummary {
        header,
        events: 0,
        last: None,
        title: None,
    };
    Ok(Json(session(summary, running)))
}

/// Follows a session: from `Last-Event-ID` or `after` on, else from the beginning of the run that is
/// under way, else from now on. The pieces of an answer that is under way come as one, with `at` 0. If
/// the session has not come as far as what was asked for, an event `resync` comes first, and then all.
#[utoipa::path(get, path = "/api/sessions/{id}/events", params(
    ("id" = String, Path), From,
    ("Last-Event-ID" = Option<String>, Header, description = "The last event that arrived."),
), responses(
    (status = 200, content_type = "text/event-stream", body = String,
     description = "Events without end: `event` is the type, `id` the number, `data` the event."),
    (status = "4XX", content_type = "application/problem+json", body = Problem),
    (status = "5XX", content_type = "application/problem+json", body = Problem),
))]
async fn events(
    State(host): Shared,
    client: Client,
    Path(id): Path<String>,
    from: Result<Query<From>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    client.must_have(&[Scope::Converse, Scope::Inspect])?;
    let from = query(from)?;
    host.header(&client, &id, client.has(Scope::Inspect))
        .await?;
    let last = headers.get("last-event-id").map(|last| {
        let last = last.to_str().ok().and_then(|last| last.trim().parse().ok());
        // What is no number of ours was never there.
        last.unwrap_or(u64::MAX)
    });
    let (feed, unknown) = host.events(&id, last.or(from.after)).await?;
    Ok(stream(feed, End::Never, unknown).into_response())
}

/// Cancels the run of a session, if one is under way. Every call of it gets its result.
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", params(("id" = String, Path)), responses(
    (status = 200, body = Cancelled),
    (status = "4XX", content_type = "application/problem+json", body = Problem),
    (status = "5XX", content_type = "application/problem+json", body = Problem),
))]
async fn cancel(
    State(host): Shared,
    client: Client,
    Path(id): Path<String>,
) -> Result<Json<Cancelled>, Problem> {
    client.must_have(&[Scope::Converse])?;
    host.header(&client, &id, false).await?;
    let cancelled = host.cancel(&id).await;
    Ok(Json(Cancelled { cancelled }))
}

/// Tells a session what happened outside of it: a RuntimeInjection. The same id twice is one.
#[utoipa::path(post, path = "/api/sessions/{id}/injections", params(("id" = String, Path)),
    request_body = Object, responses(
    (status = 202, body = Receipt),
    (status = "4XX", content_type = "application/problem+json", body = Problem),
    (status = "5XX", content_type = "application/problem+json", body = Problem),
))]
async fn inject(
    State(host): Shared,
    client: Client,
    Path(id): Path<String>,
    body: Result<Json<Value>, JsonRejection>,
) -> Result<(StatusCode, Json<Receipt>), Problem> {
    client.must_have(&[Scope::Inject])?;
    // Who tells of what happens outside tells it to any session.
    host.header(&client, &id, true).await?;
    let injection: Injection = serde_json::from_value(read(body)?)
        .map_err(|error| Problem::invalid(format!("this is no injection: {error}")))?;
    let receipt = inject::leave(host.store(), &id, &injection).await;
    let receipt = receipt.map_err(|failure| match failure {
        crate::failure::Failure::Bad(findings) => {
            let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
            Problem::invalid(findings.join("; "))
        }
        failure => failure.into(),
    })?;
    if !*host.closing.borrow() {
        host.wake(&id).await?;
    }
    let receipt = Receipt {
        id: injection.id,
        receipt: receipt.to_string(),
    };
    Ok((StatusCode::ACCEPTED, Json(receipt)))
}

/// Whether the host is there.
#[utoipa::path(get, path = "/api/health", responses((status = 200, body = Object)))]
async fn health(State(host): Shared) -> Json<Value> {
    let status = if *host.closing.borrow() {
        "closing"
    } else {
        "ok"
    };
    Json(json!({ "status": status }))
}

/// Counts, for Prometheus.
#[utoipa::path(get, path = "/api/metrics", responses(
    (status = 200, content_type = "application/openmetrics-text", body = String),
    (status = "4XX", content_type = "application/problem+json", body = Problem),
))]
async fn metrics(State(host): Shared, client: Client) -> Result<Response, Problem> {
    client.must_have(&[Scope::Inspect])?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], host.count().await).into_response())
}

fn session(summary: SessionSummary, running: bool) -> Session {
    let header = summary.header;
    Session {
        id: header.id,
        created: header.created,
        parent: header.parent,
        variant: header.variant,
        owner: header.owner,
        running,
        title: None,
        events: None,
    }
}

fn read<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, Problem> {
    body.map(|Json(body)| body).map_err(|rejection| {
        let status = rejection.status();
        let title = "the body is wrong";
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Problem::new(status, "too-large", title, "the body is too large")
            }
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                let detail = "send `Content-Type: application/json`";
                Problem::new(status, "media-type", title, detail)
            }
            _ => Problem::invalid(rejection.body_text()),
        }
    })
}

fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Problem> {
    let query = query.map_err(|rejection| Problem::invalid(rejection.body_text()));
    query.map(|Query(query)| query)
}
