//! Standard plugin `jobs`: commands that run in the background and are told of when they end. What
//! the model sees of it, and what it costs, stands in README.md.

use raddle_sdk::inject::{self, Actor, Injection, Origin, Source};
use raddle_sdk::process::{self, Command};
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::types::Subject;
use raddle_sdk::watchers::Occasion;
use raddle_sdk::{
    Context, Environment, Error, Fact, arguments, include_prompt, session_state, workspace,
};
use serde::{Deserialize, Serialize};

/// The folder of the jobs' outputs, in the session's directory.
const FOLDER: &str = ".raddle/jobs";

/// Key of the number of the last job.
const LAST: &str = "last";

/// Key of a job that was not told of yet, before its number.
const OPEN: &str = "open/";

/// Starts `$1` in a session of its own, so that it outlives the call; its output goes to `$2`, and
/// its exit code, whole or not at all, to `$3`.
const START: &str = r#"mkdir -p "$(dirname "$2")" && setsid bash -c '
    bash -c "$1" >"$2" 2>&1 </dev/null
    echo $? >"$3.part" && mv "$3.part" "$3"
' job "$1" "$2" "$3" >/dev/null 2>&1 </dev/null &"#;

/// The plugin.
pub struct Jobs;

/// Arguments of the tool, and what is kept of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The command.
    pub command: String,
    /// What people call it.
    pub label: String,
    /// The file that it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}

raddle_sdk::export!(Jobs: tools, watchers);

impl raddle_sdk::tools::Guest for Jobs {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![tool()])
    }

    fn call(invocation: Invocation, context: Context) -> Result<Outcome, Error> {
        let job: Job = arguments(&invocation.call)?;
        let number = next_number()?;
        let name = name(number);
        let folder = context.cwd.unwrap_or_default();
        let place = |end: &str| format!("{folder}/{FOLDER}/{name}.{end}");
        let kept =
            serde_json::to_string(&job).map_err(|error| Error::failed("job", error.to_string()))?;
        session_state::set(&format!("{OPEN}{number}"), &kept)?;
        let started = process::run(&Command {
            program: "bash".to_owned(),
            arguments: ["-c", START, "job"]
                .map(str::to_owned)
                .into_iter()
                .chain([job.command, place("output"), place("exit")])
                .collect(),
            cwd: None,
            environment_variables: Vec::new(),
            input: Vec::new(),
            timeout_ms: None,
            max_output: 4096,
            merge: true,
            live: false,
        });
        let code = started.map(|completed| (completed.code, completed.output));
        match code {
            Ok((Some(0), _)) => {
                let text = format!("{name} is started; its output goes to {FOLDER}/{name}.output");
                Ok(Outcome::Done(Reply::text(text)))
            }
            failed => {
                session_state::remove(&format!("{OPEN}{number}"))?;
                let (_, output) = failed?;
                let output = String::from_utf8_lossy(&output).into_owned();
                Err(Error::failed(
                    "start",
                    format!("{name} did not start: {output}"),
                ))
            }
        }
    }
}

impl raddle_sdk::watchers::Guest for Jobs {
    fn observe(_occasion: Occasion, _context: Context) -> Result<(), Error> {
        for key in session_state::list_keys(OPEN)? {
            let number = key
                .strip_prefix(OPEN)
                .and_then(|number| number.parse().ok());
            let job = session_state::get(&key)?;
            let job = job.and_then(|job| serde_json::from_str::<Job>(&job).ok());
            let (Some(number), Some(job)) = (number, job) else {
                session_state::remove(&key)?;
                continue;
            };
            let Ok(exit) = workspace::read(&format!("{FOLDER}/{}.exit", name(number)), 0, 16)
            else {
                continue;
            };
            let code = String::from_utf8_lossy(&exit.bytes).trim().to_owned();
            let revision = job.artifact.as_ref().and_then(|path| {
                let contents = workspace::read(path, 0, 0).ok()?;
                Some(contents.digest)
            });
            // Told again after a crash in between, it is the same injection.
            inject::send(&result(number, &job, &code, revision))?;
            session_state::remove(&key)?;
        }
        Ok(())
    }
}

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "start_job".to_owned(),
        description: include_prompt!("tool.md").to_owned(),
        parameters: include_prompt!("parameters.json").to_owned(),
        guidance: None,
        hints: vec![
            Fact::new("title", "Start a background job"),
            Fact::new("kind", "execute"),
        ],
    }
}

/// What is told of a job that ended: of its artifact if it made it, of its end otherwise.
pub fn result(number: u32, job: &Job, code: &str, revision: Option<String>) -> Injection {
    let name = name(number);
    let made = job
        .artifact
        .as_ref()
        .filter(|_| code == "0" && revision.is_some());
    let text = match made {
        Some(path) => include_prompt!("ended-artifact.md").replace("PATH", path),
        None => include_prompt!("ended.md").replace("CODE", code),
    };
    let summary = text
        .replace("JOB", &name)
        .replace("OUTPUT", &format!("{FOLDER}/{name}.output"))
        .replace("LABEL", &job.label);
    Injection {
        id: name.clone(),
        kind: match made {
            Some(_) => "artifact_update".to_owned(),
            None => "background_result".to_owned(),
        },
        occurred_at: None,
        source: Source::BackgroundJob,
        delivery: None,
        requires_decision: false,
        summary,
        dedupe_key: Some(name.clone()),
        subject: Some(Subject {
            reference: made.is_none().then(|| format!("job:{name}")),
            path: made.cloned(),
            revision: revision.filter(|_| made.is_some()),
        }),
        origin: Some(Origin {
            actor: Some(Actor::Service),
            interaction_id: None,
            tool_call_id: None,
        }),
        details: Some(
            serde_json::json!({ "change": "job_finished", "job": name, "exitCode": code })
                .to_string(),
        ),
    }
}

fn name(number: u32) -> String {
    format!("job-{number}")
}

/// The next number, also when two calls of a batch ask at the same time.
fn next_number() -> Result<u32, Error> {
    loop {
        let last = session_state::get(LAST)?;
        let next = last
            .as_deref()
            .and_then(|last| last.parse().ok())
            .unwrap_or(0)
            + 1;
        if session_state::swap(LAST, last.as_deref(), &next.to_string())? {
            return Ok(next);
        }
    }
}
