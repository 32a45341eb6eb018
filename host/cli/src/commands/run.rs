//! `raddle run`: a conversation in the terminal.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use raddle_core::agent::{Asker, Cancel};
use raddle_core::store::SessionHeader;

use super::Place;
use crate::arguments::RunArguments;
use crate::conversation::{Conversation, finish};
use crate::deployment::{Deployment, unsandboxed};
use crate::failure::Failure;
use crate::live::{Live, News, Watching};
use crate::model::Link;
use crate::report::{counted, did_you_mean};
use crate::sessions::Sessions;
use crate::terminal::{
    FrontEnd as _, Input, Line, Screen, Style, TerminalAsker, notice, print, shortened,
};
use crate::{folders, preview};

/// How often an idle session looks for what was left for it.
const LISTEN: Duration = Duration::from_millis(250);

/// The commands of the conversation, each with what it does.
const COMMANDS: [(&str, &str); 6] = [
    (
        "/compact",
        "cut the conversation short: a summary stands for it",
    ),
    ("/help", "these commands"),
    ("/plugins", "the loaded plugins"),
    ("/prompt", "the system prompt, as the model sees it"),
    ("/quit", "end the conversation"),
    ("/tools", "the tools, and the plugins they come from"),
];

/// Talks until the user leaves. Without a terminal a recording is played, and nothing else is
/// possible.
pub(super) async fn run(arguments: &RunArguments, place: &Place) -> Result<(), Failure> {
    let config = place.deployment()?;
    let link = Link::open_or_recorded(&config, arguments.recording.as_deref())?;
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !terminal && link.recording().is_none() {
        return Err(Failure::Misuse(
            "`raddle run` needs a terminal: `raddle exec` answers one message without".to_owned(),
        ));
    }
    let sessions = Sessions::open(&config);
    let deployment = Arc::new(match terminal {
        true => Deployment::load_early(config).await?,
        // What is played is the same every time.
        false => Deployment::load(config, &[]).await?,
    });
    let live = Live::of(Arc::clone(&deployment));
    let sessions = sessions.opened().await?;
    let screen = Arc::new(if terminal {
        Screen::conversation()
    } else {
        Screen::unattended()
    });
    let opened = match &arguments.resume {
        Some(id) => {
            let id = id.as_deref();
            sessions.resume(id, &deployment, screen.clone()).await?
        }
        None => {
            sessions
                .start(
                    &place.directory,
                    &deployment,
                    arguments.variant.as_deref(),
                    screen.clone(),
                )
                .await?
        }
    };
    welcome(&deployment, &link);
    if terminal {
        let input = Input::open(folders::data().ok().map(|folder| folder.join("history")))?;
        let remarks = input.clone();
        let watching = live.watch(move |news| {
            for line in told(news) {
                remarks.remark(&line);
            }
        });
        let _watching = or_unwatched(watching);
        let asker = Arc::new(TerminalAsker::new(input.clone()));
        let asked: Arc<dyn Asker> = asker.clone();
        let mut conversation = Conversation::new(&deployment, &link, opened, Some(asked))?;
        conversation.follow(&live);
        let left = talk(&mut conversation, &link, &input, &asker).await;
        if conversation.controller().run() > 0 {
            let id = &conversation.controller().header().id;
            let style = Style::of(&std::io::stderr());
            notice(style.faint(format!("`raddle run --resume {id}` goes on here")));
        }
        left?;
    } else {
        let _watching = or_unwatched(live.watch(|news| told(news).iter().for_each(notice)));
        let mut conversation = Conversation::new(&deployment, &link, opened, None)?;
        conversation.follow(&live);
        play(conversation, &link).await?;
    }
    screen.end()
}

/// The recorded messages, each answered by the recording.
async fn play(mut conversation: Conversation, link: &Link) -> Result<(), Failure> {
    let messages = link.recording().map(|recording| recording.messages());
    let messages = messages.unwrap_or_default();
    if messages.is_empty() {
        return Err(Failure::Misuse(
            "the recording has no message to start with: `raddle exec` takes one".to_owned(),
        ));
    }
    for message in messages {
        let outcome = conversation.run(message).await?;
        finish(&outcome)?;
        conversation.settle().await?;
    }
    Ok(())
}

async fn talk(
    conversation: &mut Conversation,
    link: &Link,
    input: &Input,
    asker: &TerminalAsker,
) -> Result<(), Failure> {
    let recorded = link.recording().map(|recording| recording.messages());
    let mut recorded = recorded.unwrap_or_default().iter();
    let mut ready = recorded.next().map(String::as_str);
    loop {
        let line = {
            let mut line = std::pin::pin!(input.message("> ", ready.unwrap_or_default()));
            loop {
                tokio::select! {
                    biased;
                    line = &mut line => break line?,
                    () = tokio::time::sleep(LISTEN) => conversation.listen().await?,
                }
            }
        };
        let line = match line {
            Line::Text(line) => line,
            Line::Interrupted => return Err(Failure::Interrupted),
            Line::End => return Ok(()),
        };
        let message = line.trim();
        if message.is_empty() {
            continue;
        }
        if message.starts_with('/') {
            match message {
                "/quit" => return Ok(()),
                "/compact" => compact(conversation).await?,
                _ => {
                    let deployment = conversation.deployment();
                    command(message, deployment, conversation.controller().header()).await?;
                }
            }
            continue;
        }
        if let Some(how) = link.key_missing()
            && ready != Some(message)
        {
            notice(format!(
                "a recording answers only what stands ready at the prompt; {how}"
            ));
            continue;
        }
        ready = recorded.next().map(String::as_str);
        let cancel = Cancel::new();
        asker.begin(&cancel);
        conversation.run_with(message, &cancel).await?;
        print("\n")?;
    }
}

async fn compact(conversation: &mut Conversation) -> Result<(), Failure> {
    if conversation.deployment().registry.compaction().is_none() {
        notice("no plugin of this deployment compacts; `std:compaction` does");
    } else if !conversation.compact().await? {
        notice("there is nothing to compact");
    }
    Ok(())
}

async fn command(
    command: &str,
    deployment: &Deployment,
    session: &SessionHeader,
) -> Result<(), Failure> {
    let mut text = String::new();
    match command {
        "/help" => {
            for (name, what) in COMMANDS {
                text.push_str(&format!("{name:<10} {what}\n"));
            }
            text.push_str("Ctrl-C cancels the answer; at the prompt it leaves, like Ctrl-D.\n");
        }
        "/tools" => {
            for entry in deployment.tools() {
                let line = entry.tool.description.lines().next().unwrap_or_default();
                let line = shortened(line, 80);
                text.push_str(&format!(
                    "{:<20} {:<14} {line}\n",
                    entry.tool.name, entry.plugin
                ));
            }
        }
        "/plugins" => {
            for plugin in deployment.registry.plugins() {
                let info = plugin.info();
                let exports = info.exports.join(", ");
                let note = match plugin.is_quarantined() {
                    true => "; quarantined: it kept failing, and is not called any more",
                    false => "",
                };
                text.push_str(&format!(
                    "{:<20} {:<20} {exports}{note}\n",
                    info.id, info.source
                ));
            }
        }
        "/prompt" => {
            let directory = session.directory.as_deref().unwrap_or("/");
            let variant = deployment.variant(&session.variant)?;
            // A prompt that cannot be made fails a turn, not the conversation.
            match preview::assemble(deployment, Path::new(directory), &variant).await {
                Ok(assembly) => text = format!("{}\n", assembly.system()),
                Err(failure) => notice(failure),
            }
        }
        other => {
            let hint = did_you_mean(other, COMMANDS.iter().map(|(name, _)| *name));
            notice(format!("there is no command {other}{hint}"));
        }
    }
    print(&text)
}

/// A machine on which files cannot be watched can still be worked on.
fn or_unwatched(watching: Result<Watching, Failure>) -> Option<Watching> {
    let style = Style::of(&std::io::stderr());
    let told = |failure| notice(style.wrong(format!("changes are not noticed: {failure}")));
    watching.map_err(told).ok()
}

/// What became of a change of the deployment, a line for each thing.
fn told(news: News) -> Vec<String> {
    let style = Style::of(&std::io::stderr());
    match news {
        News::Ready { changes, texts } => {
            let (changes, texts) = (changes.join(", "), texts.join(", "));
            let about = [
                (!changes.is_empty())
                    .then(|| format!("[reloaded: {changes}; from the next message on]")),
                (!texts.is_empty())
                    .then(|| format!("[new texts of {texts}: read when they are used next]")),
            ];
            let about = about.into_iter().flatten();
            about.map(|line| style.faint(line)).collect()
        }
        News::Refused(reasons) => {
            let wrong = style.wrong("not reloaded:");
            let reasons = reasons.into_iter();
            reasons.map(|reason| format!("{wrong} {reason}")).collect()
        }
    }
}

/// What is loaded, in a line; what is not, in one each.
fn welcome(deployment: &Deployment, link: &Link) {
    let style = Style::of(&std::io::stderr());
    let model = deployment.config.model.as_ref();
    let parts = [
        deployment.agent.clone(),
        (!deployment.model().is_empty()).then(|| deployment.model().to_owned()),
        model.map(|_| link.kind().to_owned()),
        Some(counted(deployment.registry.plugins().len(), "plugin")),
        Some(counted(deployment.tools().count(), "tool")),
        Some("/help".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    notice(format!("{} {}", style.strong("raddle"), parts.join(" · ")));
    for unsandboxed in unsandboxed(&deployment.config) {
        tracing::warn!(
            plugin = unsandboxed.plugin,
            "its programs are not sandboxed"
        );
        notice(style.wrong(unsandboxed));
    }
    for left_out in &deployment.left_out {
        for fault in &left_out.faults {
            notice(style.faint(format!("left out: {fault}")));
        }
    }
    for late in deployment.late() {
        notice(style.faint(format!("still to come: `{late}`")));
    }
    if let Some(how) = link.key_missing() {
        notice(style.faint(format!("a recording answers: {how}")));
    }
}
