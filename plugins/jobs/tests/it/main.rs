//! What is told of a job that ended.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_jobs::{Job, result};

fn job(artifact: Option<&str>) -> Job {
    Job {
        command: "true".to_owned(),
        label: "Render the deck".to_owned(),
        artifact: artifact.map(str::to_owned),
    }
}

#[test]
fn a_job_that_made_its_artifact_is_an_artifact_update() {
    let told = result(
        3,
        &job(Some("deck.html")),
        "0",
        Some("sha256:ab".to_owned()),
    );
    assert_eq!(
        (told.kind.as_str(), told.id.as_str()),
        ("artifact_update", "job-3")
    );
    let subject = told.subject.unwrap();
    assert_eq!(subject.path.as_deref(), Some("deck.html"));
    assert_eq!(subject.revision.as_deref(), Some("sha256:ab"));
    assert_eq!(
        told.summary,
        "The background job \"Render the deck\" (job-3) finished and changed deck.html. Read it \
         before you build on it."
    );
}

#[test]
fn every_other_end_is_a_background_result() {
    for (job, code, revision) in [
        (job(None), "0", None),
        (job(Some("deck.html")), "1", Some("sha256:ab".to_owned())),
        (job(Some("deck.html")), "0", None),
    ] {
        let told = result(1, &job, code, revision);
        assert_eq!(told.kind, "background_result");
        assert!(told.summary.contains(&format!(
            "exit code {code}. Its output is in .raddle/jobs/job-1.output"
        )));
        assert_eq!(told.dedupe_key.as_deref(), Some("job-1"));
    }
}
