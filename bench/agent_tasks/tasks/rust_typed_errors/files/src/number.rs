pub fn parse(key: &str, text: &str) -> Result<u16, String> {
    text.trim().parse().map_err(|_| format!("{key} is no number: {text}"))
}
