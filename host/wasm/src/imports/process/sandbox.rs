//! What keeps a program inside its grant, whatever it is told to do: Landlock for the files that it
//! changes, seccomp for the network and for what no program here needs.
//!
//! Both hold for the thread that takes them on and for all that is started on it, for good. So
//! programs under one policy are started on a thread of their own, and nothing is started only to
//! be restricted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, path_beneath_rules,
};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The kernel's Landlock that a sandbox needs: the first one that also holds truncation.
const NEEDED: ABI = ABI::V3;

/// Devices that programs write to without changing anything.
const DEVICES: [&str; 6] = [
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/tty",
    "/dev/zero",
];

/// Calls that look into other processes, change the kernel, or go around the filter.
const REFUSED: [i64; 15] = [
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_perf_event_open,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
];

/// What programs under one grant may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Folders in which they may change files; reading is up to the system.
    pub write: Vec<PathBuf>,
    /// Whether they may use the network.
    pub network: bool,
}

/// A policy cannot be held here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSandbox(String);

/// Whether this machine can hold a policy. Looked at once.
///
/// # Errors
/// Why it cannot.
pub fn support() -> Result<(), NoSandbox> {
    static SUPPORT: OnceLock<Result<(), NoSandbox>> = OnceLock::new();
    SUPPORT
        .get_or_init(|| {
            architecture()?;
            let ruleset = Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_write(NEEDED))
                .and_then(Ruleset::create);
            ruleset.map(drop).map_err(|error| {
                NoSandbox(format!(
                    "the kernel has no Landlock, or one that is older than Linux 6.2 ({error})"
                ))
            })
        })
        .clone()
}

impl Policy {
    /// Holds the calling thread, and all that it starts, to the policy, for good.
    pub(super) fn take_on(&self) -> Result<(), NoSandbox> {
        let filter = self.filter()?;
        self.hold_files()
            .map_err(|error| NoSandbox(error.to_string()))?;
        seccompiler::apply_filter(&filter).map_err(|error| NoSandbox(error.to_string()))
    }

    fn hold_files(&self) -> Result<(), landlock::RulesetError> {
        let writing = AccessFs::from_write(NEEDED);
        let devices = AccessFs::WriteFile | AccessFs::Truncate;
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(writing)?
            .create()?
            .add_rules(path_beneath_rules(&self.write, writing))?
            .add_rules(path_beneath_rules(DEVICES, devices))?
            .restrict_self()?;
        Ok(())
    }

    fn filter(&self) -> Result<BpfProgram, NoSandbox> {
        let fault = |error: seccompiler::BackendError| NoSandbox(error.to_string());
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            REFUSED.iter().map(|call| (*call, Vec::new())).collect();
        if !self.network {
            // What stays inside the machine is no network: sockets in files, and asking the kernel.
            let local = [libc::AF_UNIX, libc::AF_NETLINK];
            let others = local.map(|family| {
                let family = u64::try_from(family).unwrap_or_default();
                SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
            });
            let others: Result<Vec<_>, _> = others.into_iter().collect();
            let rule = SeccompRule::new(others.map_err(fault)?).map_err(fault)?;
            rules.insert(libc::SYS_socket, vec![rule]);
        }
        let denied = u32::try_from(libc::EPERM).unwrap_or_default();
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(denied),
            architecture()?,
        );
        filter.and_then(BpfProgram::try_from).map_err(fault)
    }
}

fn architecture() -> Result<TargetArch, NoSandbox> {
    let name = std::env::consts::ARCH;
    TargetArch::try_from(name)
        .map_err(|_| NoSandbox(format!("there is no system call filter for {name}")))
}
