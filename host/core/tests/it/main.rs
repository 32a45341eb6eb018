//! Tests of the core at its public seam.

mod prompt;
