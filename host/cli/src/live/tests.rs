//! Whatever plugins came, went and changed in whatever order: what is there in the end is what a
//! fresh start gives.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use super::*;

const SCHEDULES: u64 = 12;
const CHANGES: usize = 8;

const HEAD: &str = "[model]\nprovider = \"openai-responses\"\nname = \"none\"\n";

/// Plugins that may be there, some in two forms. What the tools of some offer depends on others.
const BLOCKS: [&[&str]; 6] = [
    &[
        "[plugins.spawn]\nsource = \"std:spawn\"\ngrants.sessions = { depth = 1 }\n",
        "[plugins.spawn]\nsource = \"std:fork\"\nsettings.provider = \"spawn\"\n\
         grants.sessions = { depth = 1 }\n",
    ],
    &[
        "[plugins.one]\nsource = \"std:subagent\"\nsettings.provider = \"spawn\"\n\
         grants.sessions = { depth = 1 }\n",
        "[plugins.one]\nsource = \"std:subagent\"\n\
         settings = { provider = \"spawn\", tool = \"ask\", background = true }\n\
         grants.sessions = { depth = 2 }\n",
    ],
    &["[plugins.two]\nsource = \"std:subagent\"\n\
         settings = { provider = \"fork\", tool = \"two\" }\ngrants.sessions = { depth = 1 }\n"],
    &["[plugins.fork]\nsource = \"std:fork\"\ngrants.sessions = { depth = 1 }\n"],
    &[
        "[plugins.persona]\nsource = \"std:persona\"\nsettings = { agent = \"a\", text = \"You.\" }\n",
    ],
    &[
        "[plugins.text]\nsource = \"std:text\"\n\
         settings.sections = [{ name = \"style\", order = 9, text = \"Be brief.\" }]\n",
        "[plugins.text]\nsource = \"std:text\"\n\
         settings.sections = [{ name = \"style\", order = 9, text = \"Be kind.\" }]\n",
    ],
];

/// Everything a registry says, in its order.
fn said(deployment: &Deployment) -> Vec<String> {
    let registry = &deployment.registry;
    let tools = registry.tools().iter();
    let tools = tools.map(|entry| format!("{} {:?}", entry.plugin, entry.tool));
    let sections = registry.sections().iter();
    let sections = sections.map(|entry| format!("{entry:?}"));
    let environment = format!("{:?} {:?}", registry.environment(), deployment.agent);
    tools.chain(sections).chain([environment]).collect()
}

fn write(file: &Path, chosen: &[usize]) {
    let blocks = BLOCKS.iter().zip(chosen);
    let blocks = blocks.filter_map(|(forms, chosen)| forms.get(chosen.checked_sub(1)?));
    let text: String = [HEAD].into_iter().chain(blocks.copied()).collect();
    fs::write(file, text).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_schedule_of_loads_ends_as_a_fresh_start_does() {
    for seed in 0..SCHEDULES {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("raddle.toml");
        let mut chosen = [0; BLOCKS.len()];
        write(&file, &chosen);
        let first = Deployment::load(Config::load(&file).unwrap(), &[])
            .await
            .unwrap();
        let live = Live::of(Arc::new(first));
        let mut random = seed;
        for _ in 0..CHANGES {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let block = usize::try_from(random >> 33).unwrap() % BLOCKS.len();
            chosen[block] = (chosen[block] + 1) % (BLOCKS[block].len() + 1);
            write(&file, &chosen);
            let before = live.current();
            match live.reload().await {
                Some(News::Refused(reasons)) => panic!("seed {seed}: {reasons:?}"),
                news => assert!(news.is_some(), "seed {seed}: {chosen:?}"),
            }
            let now = live.current();
            let fresh = Deployment::load(Config::load(&file).unwrap(), &[])
                .await
                .unwrap();
            assert_eq!(said(&now), said(&fresh), "seed {seed}: {chosen:?}");
            // What did not change is the very same: nothing is copied, and nothing starts anew.
            let kept = now.registry.plugins().iter().filter(|plugin| {
                let known = before.registry.plugin(&plugin.info().id);
                known.is_some_and(|known| Arc::ptr_eq(known, plugin))
            });
            let all = now.registry.plugins().len();
            assert!(kept.count() + 1 >= all, "seed {seed}: {chosen:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_deployment_is_refused_and_the_one_before_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("raddle.toml");
    write(&file, &[1, 1, 0, 0, 0, 1]);
    let first = Deployment::load(Config::load(&file).unwrap(), &[])
        .await
        .unwrap();
    let live = Live::of(Arc::new(first));
    let before = live.current();
    for (change, reason) in [
        ("[plugins.text]\nsource = \"std:txt\"\n", "std:txt"),
        ("[[plugins]]\n", "plugins"),
        (
            "[plugins.again]\nsource = \"std:subagent\"\nsettings.provider = \"spawn\"\n\
             grants.sessions = { depth = 1 }\n[plugins.spawn]\nsource = \"std:spawn\"\n\
             grants.sessions = { depth = 1 }\n[plugins.one]\nsource = \"std:subagent\"\n\
             settings.provider = \"spawn\"\ngrants.sessions = { depth = 1 }\n",
            "has two owners",
        ),
    ] {
        fs::write(&file, format!("{HEAD}{change}")).unwrap();
        let Some(News::Refused(reasons)) = live.reload().await else {
            panic!("{change}")
        };
        assert!(reasons.join("\n").contains(reason), "{reasons:?}");
        assert!(Arc::ptr_eq(&live.current(), &before));
    }
    fs::write(&file, HEAD.replace("none", "other")).unwrap();
    let Some(News::Refused(reasons)) = live.reload().await else {
        panic!("the model cannot change")
    };
    assert!(
        reasons[0].contains("[model] changed: that takes a new start"),
        "{reasons:?}"
    );
}
