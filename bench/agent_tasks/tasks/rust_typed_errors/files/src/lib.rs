//! Reads `key=value` lines.

mod config;
mod number;

pub use config::{load, Config};
