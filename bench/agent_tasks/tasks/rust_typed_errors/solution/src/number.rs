use crate::error::ConfigError;

pub fn parse(key: &str, text: &str) -> Result<u16, ConfigError> {
    text.trim().parse().map_err(|_| ConfigError::BadNumber { key: key.to_string(), text: text.to_string() })
}
