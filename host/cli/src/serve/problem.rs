//! What went wrong with a request, as a problem document (RFC 9457).

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use raddle_core::store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::failure::Failure;

/// Why a request was not served.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Stable, kebab-case; what programs look at.
    pub(crate) code: &'static str,
    /// What is wrong in general.
    title: &'static str,
    /// The status of the response.
    status: u16,
    /// What is wrong here, in one line.
    detail: String,
}

impl Problem {
    /// The request is wrong.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "invalid",
            "the request is wrong",
            detail,
        )
    }

    /// No token, or none that is known.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "a token is needed",
            detail,
        )
    }

    /// The token may not do this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this is not allowed",
            detail,
        )
    }

    /// There is no such thing, or it is somebody else's.
    pub(crate) fn missing(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "there is no such thing",
            detail,
        )
    }

    /// It cannot be done now.
    pub(crate) fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, "not now", detail)
    }

    /// The host is about to end.
    pub(crate) fn closing() -> Self {
        let detail = "the host is about to end";
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "closing",
            "not any more",
            detail,
        )
    }

    /// The host could not.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        // What the machine says is for those who run it.
        tracing::error!(%error, "a request failed");
        let detail = "the host could not do it: its log says why";
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "it failed",
            detail,
        )
    }

    /// With a status and code of its own.
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            code,
            title,
            status: status.as_u16(),
            detail: detail.into(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing(_) => Self::missing("there is no such session"),
            error => Self::internal(error),
        }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Misuse(message) => Self::invalid(message),
            failure => Self::internal(failure),
        }
    }
}
