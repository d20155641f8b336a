use crate::error::ConfigError;
use crate::number;

#[derive(Debug, PartialEq)]
pub struct Config {
    pub port: u16,
    pub workers: u16,
}

pub fn load(text: &str) -> Result<Config, ConfigError> {
    let (mut port, mut workers) = (None, 4);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match key.trim() {
            "port" => port = Some(number::parse("port", value)?),
            "workers" => workers = number::parse("workers", value)?,
            other => return Err(ConfigError::UnknownKey(other.to_string())),
        }
    }
    Ok(Config { port: port.ok_or(ConfigError::Missing("port"))?, workers })
}
