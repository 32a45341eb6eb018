//! The thread that owns the connection.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use raddle_core::store::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// How many calls one commit may carry, so that the first of them does not wait for ever.
const LARGEST_BATCH: usize = 256;

/// A handle on the thread; dropping it lets the queue run dry and closes the connection.
pub(crate) struct Worker {
    place: Arc<str>,
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// What a call does to the store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Worker {
    pub(crate) fn start(connection: Connection, place: Arc<str>) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn({
                let place = Arc::clone(&place);
                move || serve(connection, &receiver, &place)
            })
            .map_err(|error| Failure::Other(error.to_string()).at(&place))?;
        Ok(Self {
            place,
            queue: Some(sender),
            thread: Some(thread),
        })
    }

    /// The store's file, for errors.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Runs `work` on the thread. The future is done when what it wrote is committed.
    pub(crate) fn call<T, W>(
        &self,
        access: Access,
        work: W,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        if let Some(queue) = &self.queue {
            // A failed send drops the job and with it the reply's sender: answered below.
            let _ = queue.send(Box::new(Call {
                access,
                work: Some(work),
                result: None,
                reply: sender,
            }));
        }
        let place = Arc::clone(&self.place);
        async move {
            receiver.await.unwrap_or_else(|_| {
                Err(Failure::Other("the store's thread has ended".to_owned()).at(&place))
            })
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic on the thread has been reported by the calls it left unanswered.
            let _ = thread.join();
        }
    }
}

/// A call with its types erased.
trait Job: Send {
    fn access(&self) -> Access;
    fn run(&mut self, connection: &Connection, place: &str);
    /// Tells the caller, once it is known whether what was written is there to stay.
    fn finish(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Call<T, W> {
    access: Access,
    work: Option<W>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Job for Call<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, Failure> + Send,
{
    fn access(&self) -> Access {
        self.access
    }

    fn run(&mut self, connection: &Connection, place: &str) {
        let Some(work) = self.work.take() else { return };
        let result = match self.access {
            Access::Read => work(connection),
            Access::Write => all_or_none(connection, work),
        };
        self.result = Some(result.map_err(|failure| failure.at(place)));
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = match (committed, self.result) {
            (Ok(()), Some(result)) => result,
            (Err(error), _) => Err(error),
            // Never run: dropping the reply answers.
            (Ok(()), None) => return,
        };
        // Nobody listens any more when the caller's future was dropped.
        let _ = self.reply.send(answer);
    }
}

fn serve(mut connection: Connection, queue: &mpsc::Receiver<Box<dyn Job>>, place: &str) {
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        batch.extend(queue.try_iter().take(LARGEST_BATCH - 1));
        let committed = run(&mut connection, &mut batch, place);
        for job in batch {
            job.finish(committed.clone());
        }
    }
}

/// Runs a batch, in one transaction if it writes.
fn run(
    connection: &mut Connection,
    batch: &mut [Box<dyn Job>],
    place: &str,
) -> Result<(), StoreError> {
    if batch.iter().all(|job| job.access() == Access::Read) {
        for job in batch {
            job.run(connection, place);
        }
        return Ok(());
    }
    // Immediate: a transaction that began by reading could not wait for another process's write.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| Failure::from(error).at(place))?;
    for job in batch {
        job.run(&transaction, place);
    }
    transaction
        .commit()
        .map_err(|error| Failure::from(error).at(place))
}

/// Runs `work` so that, if it fails, nothing of it stays in the batch's transaction.
fn all_or_none<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, Failure> {
    connection.prepare_cached("SAVEPOINT call")?.execute([])?;
    let result = work(connection);
    if result.is_err() {
        connection.prepare_cached("ROLLBACK TO call")?.execute([])?;
    }
    connection.prepare_cached("RELEASE call")?.execute([])?;
    result
}
