//! Reads `key=value` lines.

mod config;
mod error;
mod number;

pub use config::{load, Config};
pub use error::ConfigError;
