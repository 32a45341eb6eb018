//! What all requests share: the deployment, the model, and the sessions in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_core::session::EventData;
use raddle_core::store::{SessionHeader, Store};
use tokio::sync::watch;

use super::access::{Access, Client};
use super::hub::{Feed, Hub};
use super::metrics::Metrics;
use super::problem::Problem;
use super::room::{Room, Slot};
use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::live::Live;
use crate::lock::InUse;
use crate::model::Link;
use crate::sessions::{Opened, Sessions, new_id};

/// Those who may follow one session at the same time.
const MAX_FOLLOWERS: usize = 64;

/// Slots above which those that nobody needs are thrown away.
const MANY_SLOTS: usize = 1024;

/// Everything that requests share.
pub(crate) struct Host {
    pub(crate) live: Arc<Live>,
    pub(crate) link: Link,
    pub(crate) sessions: Sessions,
    /// The directory of new sessions.
    pub(crate) directory: PathBuf,
    pub(crate) access: Access,
    pub(crate) metrics: Arc<Metrics>,
    /// True when the host is about to end: nothing begins any more.
    pub(crate) closing: watch::Sender<bool>,
    /// True when followers are to go.
    pub(crate) closed: watch::Sender<bool>,
    slots: Mutex<BTreeMap<String, Arc<Slot>>>,
}

impl Host {
    pub(crate) fn new(
        live: Arc<Live>,
        link: Link,
        sessions: Sessions,
        directory: PathBuf,
        access: Access,
    ) -> Arc<Self> {
        Arc::new(Self {
            live,
            link,
            sessions,
            directory,
            access,
            metrics: Arc::default(),
            closing: watch::Sender::new(false),
            closed: watch::Sender::new(false),
            slots: Mutex::default(),
        })
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.sessions.store
    }

    /// A session of this deployment that the client may see.
    ///
    /// # Errors
    ///
    /// There is none of that id, or it is not this client's: it is not told which.
    pub(crate) async fn header(
        &self,
        client: &Client,
        id: &str,
        sees_all: bool,
    ) -> Result<SessionHeader, Problem> {
        let header = self.store().header(id).await?;
        let header = header.filter(|header| self.is_ours(header));
        let header = header.filter(|header| sees_all || client.owns(header.owner.as_deref()));
        header.ok_or_else(|| Problem::missing("there is no such session"))
    }

    /// Whether a session belongs to this deployment.
    pub(crate) fn is_ours(&self, header: &SessionHeader) -> bool {
        let file = self.live.current().config.file.display().to_string();
        header.deployment.as_deref() == Some(&file)
    }

    /// Starts a session.
    ///
    /// # Errors
    ///
    /// There is no such variant, or the session cannot be written.
    pub(crate) async fn start(
        &self,
        client: &Client,
        variant: Option<&str>,
    ) -> Result<String, Problem> {
        let id = new_id()?;
        let slot = self.slot(&id);
        let mut room = slot.room.lock().await;
        let deployment = self.live.current();
        let opened = self.sessions.start_as(
            &id,
            client.name.as_deref(),
            &self.directory,
            &deployment,
            variant,
            Arc::clone(&slot.hub) as _,
        );
        let opened = opened.await?;
        *room = Some(self.room(&slot, opened)?);
        Ok(id)
    }

    /// Has a session answer a message, and follows it from there.
    ///
    /// # Errors
    ///
    /// `busy`: it answers another message. `in-use`: another process has it.
    pub(crate) async fn say(&self, id: &str, message: String) -> Result<Feed, Problem> {
        if *self.closing.borrow() {
            return Err(Problem::closing());
        }
        let slot = self.slot(id);
        let mut room = slot.room.lock().await;
        let open = self.opened(&slot, &mut room, id).await?;
        let after = slot.hub.last();
        let feed = self.follow(&slot.hub, after).await?;
        match open.say(message) {
            true => Ok(feed),
            false => {
                let detail = "the session answers another message: wait for it, or cancel it";
                Err(Problem::conflict("busy", detail))
            }
        }
    }

    /// Has a session look at what was left for it.
    ///
    /// # Errors
    ///
    /// Those of [`say`](Self::say).
    pub(crate) async fn wake(&self, id: &str) -> Result<(), Problem> {
        let slot = self.slot(id);
        let mut room = slot.room.lock().await;
        self.opened(&slot, &mut room, id).await.map(drop)
    }

    /// Cancels what a session does; says whether it did anything.
    pub(crate) async fn cancel(&self, id: &str) -> bool {
        let slot = self.slot(id);
        let room = slot.room.lock().await;
        room.as_ref().is_some_and(Room::cancel)
    }

    /// Whether a run of the session is under way here.
    pub(crate) async fn is_running(&self, id: &str) -> bool {
        let slot = self.slot(id);
        let room = slot.room.lock().await;
        room.as_ref().is_some_and(Room::is_running)
    }

    /// Follows a session: from the event after `after`, else from the beginning of the run that is
    /// under way, else from now on. The last is the number that was asked for and never was.
    ///
    /// # Errors
    ///
    /// Too many follow already, or the log cannot be read.
    pub(crate) async fn events(
        &self,
        id: &str,
        after: Option<u64>,
    ) -> Result<(Feed, Option<u64>), Problem> {
        let slot = self.slot(id);
        if slot.hub.followers() >= MAX_FOLLOWERS {
            let detail = format!("{MAX_FOLLOWERS} follow this session already");
            return Err(Problem::conflict("followers", detail));
        }
        let entries = self.store().entries(id, 0).await?;
        let events = || entries.iter().flatten();
        let last = events().map(|event| event.seq).max().unwrap_or(0);
        let began = events().fold(None, |began, event| match event.data {
            EventData::RunStarted {} => Some(event.seq - 1),
            EventData::Done { .. } => None,
            _ => began,
        });
        let unknown = after.filter(|after| *after > last);
        let after = match after {
            Some(_) if unknown.is_some() => 0,
            Some(after) => after,
            None => began.unwrap_or(last),
        };
        Ok((self.follow(&slot.hub, after).await?, unknown))
    }

    /// The metrics, as they are now.
    pub(crate) async fn count(&self) -> String {
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        let (mut sessions, mut followers) = (0, 0);
        for slot in slots {
            sessions += i64::from(slot.room.lock().await.is_some());
            followers += i64::try_from(slot.hub.followers()).unwrap_or(i64::MAX);
        }
        self.metrics.sessions.set(sessions);
        self.metrics.followers.set(followers);
        self.metrics.text()
    }

    /// Whether a run is under way anywhere.
    pub(crate) fn is_busy(&self) -> bool {
        self.metrics.running.get() > 0
    }

    /// Cancels every run.
    pub(crate) async fn cancel_all(&self) {
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        for slot in slots {
            if let Some(room) = &*slot.room.lock().await {
                room.cancel();
            }
        }
    }

    async fn follow(&self, hub: &Arc<Hub>, after: u64) -> Result<Feed, Problem> {
        let closed = self.closed.subscribe();
        Ok(hub.follow(self.store(), after, closed).await?)
    }

    /// The room of a session, opened if it is not.
    async fn opened<'a>(
        &self,
        slot: &Arc<Slot>,
        room: &'a mut Option<Room>,
        id: &str,
    ) -> Result<&'a Room, Problem> {
        if room.as_ref().is_some_and(Room::is_gone) {
            *room = None;
        }
        if let Some(open) = room {
            return Ok(open);
        }
        let hub = Arc::clone(&slot.hub);
        let deployment = self.live.current();
        let opened = self.sessions.resume(Some(id), &deployment, hub as _);
        let opened = opened.await.map_err(|failure| match &failure {
            Failure::Unable(error) if error.is::<InUse>() => {
                Problem::conflict("in-use", failure.to_string())
            }
            _ => failure.into(),
        })?;
        Ok(room.insert(self.room(slot, opened)?))
    }

    fn room(&self, slot: &Arc<Slot>, opened: Opened) -> Result<Room, Problem> {
        let deployment = self.live.current();
        let mut conversation = Conversation::new(&deployment, &self.link, opened, None)?;
        conversation.follow(&self.live);
        slot.hub.begin_at(conversation.controller().last());
        Ok(Room::open(slot, conversation))
    }

    fn slot(&self, id: &str) -> Arc<Slot> {
        let mut slots = self.slots();
        if slots.len() > MANY_SLOTS {
            slots.retain(|_, slot| {
                let is_open = slot.room.try_lock().map_or(true, |room| room.is_some());
                is_open || Arc::strong_count(slot) > 1 || slot.hub.followers() > 0
            });
        }
        let new = || Slot::new(Hub::new(id, Arc::clone(&self.metrics)));
        Arc::clone(slots.entry(id.to_owned()).or_insert_with(new))
    }

    /// A panic while it was locked left nothing half done.
    fn slots(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
