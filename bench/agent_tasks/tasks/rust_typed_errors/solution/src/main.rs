mod config;
mod error;
mod number;

use error::ConfigError;
use std::io::Read;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("text on standard input");
    match config::load(&text) {
        Ok(config) => println!("port {} with {} workers", config.port, config.workers),
        Err(error @ ConfigError::Missing(_)) => {
            println!("{error} (add a line port=8080)");
            std::process::exit(3);
        }
        Err(error) => {
            println!("{error}");
            std::process::exit(1);
        }
    }
}
