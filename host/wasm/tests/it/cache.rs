//! The cache of compiled components: what is sound is used, everything else is compiled again.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use raddle_core::plugins::Caller;
use raddle_wasm::{ComponentSource, LoadProgress, PluginSpec, Runtime, RuntimeSettings};
use tempfile::TempDir;

use crate::guest::{Guest, data, render, spec, words};

#[derive(Default)]
struct Compiled(AtomicUsize);

impl LoadProgress for Compiled {
    fn compiling(&self, _plugin: &str) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A guest that says `text`.
fn saying(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    Guest::new()
        .core(&words(1024, &[0, 1, 1100, length]))
        .core(&data(1100, text))
        .rendering("(i32.const 1024)")
        .build()
}

/// Loads `spec` in a new runtime that keeps compiled components in `directory`, checks that it
/// says `text`, and counts compilations.
async fn compilations(directory: &Path, spec: PluginSpec, text: &str) -> usize {
    let runtime = Runtime::new(&RuntimeSettings {
        cache_dir: Some(directory.to_owned()),
        ..RuntimeSettings::default()
    })
    .unwrap();
    let compiled = Compiled::default();
    let loaded = runtime.load(vec![spec], &compiled).await;
    assert_eq!(loaded.faults, []);
    let said = render(&*loaded.plugins[0], &Caller::default()).await;
    assert_eq!(said, Ok(Some(text.to_owned())));
    compiled.0.load(Ordering::SeqCst)
}

async fn compilations_of(directory: &Path, text: &str) -> usize {
    compilations(directory, spec("guest", saying(text)), text).await
}

fn entries(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory.join("compiled"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    found
}

fn entry(directory: &Path, extension: &str) -> PathBuf {
    entries(directory, extension).remove(0)
}

#[tokio::test]
async fn a_component_is_compiled_once() {
    let directory = TempDir::new().unwrap();
    assert_eq!(compilations_of(directory.path(), "hello").await, 1);
    assert_eq!(compilations_of(directory.path(), "hello").await, 0);
    assert_eq!(compilations_of(directory.path(), "other").await, 1);
    let mode = fs::metadata(directory.path().join("compiled"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// What it is, and how to do it to the only entry of a directory.
type Damage = (&'static str, fn(&Path));

#[tokio::test]
async fn a_damaged_entry_is_compiled_again_and_replaced() {
    let damages: [Damage; 8] = [
        ("garbage", |directory| {
            fs::write(entry(directory, "cwasm"), b"garbage").unwrap();
        }),
        ("empty", |directory| {
            fs::write(entry(directory, "cwasm"), b"").unwrap();
        }),
        ("truncated", |directory| {
            let path = entry(directory, "cwasm");
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        }),
        ("one bit", |directory| {
            let path = entry(directory, "cwasm");
            let mut whole = fs::read(&path).unwrap();
            let middle = whole.len() / 2;
            whole[middle] ^= 1;
            fs::write(&path, &whole).unwrap();
        }),
        ("no artifact", |directory| {
            fs::remove_file(entry(directory, "cwasm")).unwrap();
        }),
        ("no seal", |directory| {
            fs::remove_file(entry(directory, "seal")).unwrap();
        }),
        ("bad seal", |directory| {
            fs::write(entry(directory, "seal"), b"sha256:00\n-\n").unwrap();
        }),
        ("a folder", |directory| {
            let path = entry(directory, "cwasm");
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let directory = TempDir::new().unwrap();
        assert_eq!(compilations_of(directory.path(), "hello").await, 1);
        damage(directory.path());
        assert_eq!(
            compilations_of(directory.path(), "hello").await,
            1,
            "{what}"
        );
        let again = usize::from(what == "a folder");
        assert_eq!(
            compilations_of(directory.path(), "hello").await,
            again,
            "{what} was not replaced"
        );
    }
}

#[tokio::test]
async fn the_entry_of_another_component_does_not_count() {
    let directory = TempDir::new().unwrap();
    compilations_of(directory.path(), "hello").await;
    compilations_of(directory.path(), "other").await;
    for extension in ["cwasm", "seal"] {
        let [one, two] = &entries(directory.path(), extension)[..] else {
            panic!("two entries were expected")
        };
        fs::copy(one, two.with_extension("swap")).unwrap();
        fs::copy(two, one).unwrap();
        fs::rename(two.with_extension("swap"), two).unwrap();
    }
    assert_eq!(compilations_of(directory.path(), "hello").await, 1);
    assert_eq!(compilations_of(directory.path(), "other").await, 1);
}

#[tokio::test]
async fn the_artifact_of_another_engine_does_not_count() {
    // What another version of the engine would have left under this name, sealed and all.
    let directory = TempDir::new().unwrap();
    compilations_of(directory.path(), "hello").await;
    let path = entry(directory.path(), "cwasm");
    let mut artifact = fs::read(&path).unwrap();
    let version = artifact
        .windows(6)
        .position(|window| window == b"48.0.8")
        .map(|at| at + 1);
    if let Some(at) = version {
        artifact[at] = b'7';
    } else {
        artifact.truncate(64);
    }
    fs::write(&path, &artifact).unwrap();
    let seal = entry(directory.path(), "seal");
    let lines = fs::read_to_string(&seal).unwrap();
    let subject = lines.lines().last().unwrap();
    let digest = raddle_core::digest::Digest::of(&artifact);
    fs::write(&seal, format!("{digest}\n-\n{subject}")).unwrap();
    assert_eq!(compilations_of(directory.path(), "hello").await, 1);
    assert_eq!(compilations_of(directory.path(), "hello").await, 0);
}

#[tokio::test]
async fn a_directory_that_others_can_write_to_is_not_used() {
    let directory = TempDir::new().unwrap();
    let compiled = directory.path().join("compiled");
    fs::create_dir(&compiled).unwrap();
    fs::set_permissions(&compiled, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(compilations_of(directory.path(), "hello").await, 1);
    assert_eq!(compilations_of(directory.path(), "hello").await, 1);
    assert!(fs::read_dir(&compiled).unwrap().next().is_none());

    let elsewhere = TempDir::new().unwrap();
    let link = TempDir::new().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), link.path().join("compiled")).unwrap();
    assert_eq!(compilations_of(link.path(), "hello").await, 1);
    assert!(fs::read_dir(elsewhere.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_done_without() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, b"").unwrap();
    assert_eq!(compilations_of(&file, "hello").await, 1);
}

#[tokio::test]
async fn a_changed_component_file_is_seen() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("plugin.wasm");
    let at = || PluginSpec {
        component: ComponentSource::File(file.clone()),
        ..spec("guest", [])
    };
    let longer = saying("hello there");
    fs::write(&file, saying("hello")).unwrap();
    assert_eq!(compilations(directory.path(), at(), "hello").await, 1);
    assert_eq!(compilations(directory.path(), at(), "hello").await, 0);
    fs::write(&file, &longer).unwrap();
    assert_eq!(compilations(directory.path(), at(), "hello there").await, 1);
    // Of the same length, in the same moment.
    fs::write(&file, saying("hallo there")).unwrap();
    assert_eq!(saying("hallo there").len(), longer.len());
    assert_eq!(compilations(directory.path(), at(), "hallo there").await, 1);
    fs::write(&file, &longer).unwrap();
    assert_eq!(compilations(directory.path(), at(), "hello there").await, 0);
}

#[tokio::test]
async fn a_known_digest_is_trusted() {
    let directory = TempDir::new().unwrap();
    compilations_of(directory.path(), "hello").await;
    let known = PluginSpec {
        digest: Some(raddle_core::digest::Digest::of(saying("hello"))),
        ..spec("guest", [])
    };
    assert_eq!(compilations(directory.path(), known, "hello").await, 0);
}

#[tokio::test]
async fn runtimes_that_share_a_directory_do_not_disturb_each_other() {
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    let all = (0..6).map(|number| compilations_of(path, ["hello", "other"][number % 2]));
    futures::future::join_all(all).await;
    assert_eq!(compilations_of(path, "hello").await, 0);
    assert_eq!(compilations_of(path, "other").await, 0);
    assert!(entries(path, "unfinished").is_empty());
}
