//! Clocks and random numbers that are the same every time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// Gives `wasi` a wall clock that stands still, a monotonic clock that moves only when it is
/// looked at (some language runtimes refuse one at zero, or wait for it to move), and numbers
/// from a fixed sequence.
pub(super) fn fix(wasi: &mut WasiCtxBuilder) {
    wasi.wall_clock(Standing)
        .monotonic_clock(Stepping(AtomicU64::new(1_000_000_000)))
        .secure_random(sequence())
        .insecure_random(sequence())
        .insecure_random_seed(0x5261_6464_6c65);
}

/// 1980-01-01T00:00:00Z, where archives that mean no time put it.
const STANDING_AT: Duration = Duration::from_secs(315_532_800);

struct Standing;

impl HostWallClock for Standing {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        STANDING_AT
    }
}

/// Nanoseconds, a microsecond further at each look.
struct Stepping(AtomicU64);

impl HostMonotonicClock for Stepping {
    fn resolution(&self) -> u64 {
        1_000
    }

    fn now(&self) -> u64 {
        self.0.fetch_add(1_000, Ordering::Relaxed)
    }
}

fn sequence() -> Deterministic {
    Deterministic::new(SEQUENCE.to_vec())
}

/// Bytes that look mixed and repeat after a prime number of them: an xorshift generator's.
const SEQUENCE: [u8; 251] = {
    let mut bytes = [0; 251];
    let mut state = 0x9e37_79b9_u32;
    let mut index = 0;
    while index < bytes.len() {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bytes[index] = state.to_le_bytes()[0];
        index += 1;
    }
    bytes
};
