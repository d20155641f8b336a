//! Durations as people write them: `1h30m`, `45s`.

mod duration;

pub use duration::parse_seconds;
