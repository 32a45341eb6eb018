//! The standard components, embedded by `build.rs`, and their names (`std:NAME`).

use anyhow::{Context as _, Result};
use raddle_core::digest::Digest;

use crate::report::did_you_mean;

/// A standard plugin.
#[derive(Debug)]
pub(crate) struct Standard {
    /// What stands after `std:`.
    pub(crate) name: &'static str,
    /// The component and its digest, where they were there when this binary was built.
    built: Option<(&'static [u8], &'static str)>,
}

/// Every standard plugin, sorted by name.
static ALL: &[Standard] = include!(concat!(env!("OUT_DIR"), "/standard.rs"));

/// The names of all standard plugins, sorted.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|standard| standard.name)
}

/// The standard plugin called `name`, or a line about what there is.
pub(crate) fn find(name: &str) -> Result<&'static Standard, String> {
    ALL.iter()
        .find(|standard| standard.name == name)
        .ok_or_else(|| {
            format!(
                "there is no standard plugin `std:{name}`{}",
                did_you_mean(name, names())
            )
        })
}

impl Standard {
    /// The component's bytes and their digest.
    pub(crate) fn component(&self) -> Result<(&'static [u8], Digest)> {
        let (bytes, digest) = self.built.with_context(|| {
            format!(
                "`std:{}` is not part of this binary: it was built before the standard \
                 components; `cargo xtask components` builds them, then build raddle again",
                self.name
            )
        })?;
        Ok((bytes, digest.parse()?))
    }
}
