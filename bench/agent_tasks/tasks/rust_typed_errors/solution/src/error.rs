use std::fmt;

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigError {
    UnknownKey(String),
    BadNumber { key: String, text: String },
    Missing(&'static str),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey(key) => write!(formatter, "unknown key: {key}"),
            Self::BadNumber { key, text } => write!(formatter, "{key} is no number: {text}"),
            Self::Missing(key) => write!(formatter, "missing: {key}"),
        }
    }
}

impl std::error::Error for ConfigError {}
