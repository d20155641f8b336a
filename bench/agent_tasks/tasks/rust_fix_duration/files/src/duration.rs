/// The seconds of a text such as `2h5m`; units `d`, `h`, `m`, `s` in this order, each at most once.
pub fn parse_seconds(text: &str) -> Result<u32, String> {
    let mut rest = text;
    let mut total = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_numeric()).unwrap();
        let number: u32 = rest[..end].parse().unwrap();
        let unit = &rest[end..end + 1];
        let seconds = match unit {
            "d" => 86400,
            "h" => 3600,
            "m" => 60,
            "s" => 1,
            _ => return Err(format!("unknown unit {unit}")),
        };
        total += number * seconds;
        rest = &rest[end + 1..];
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::parse_seconds;

    #[test]
    fn reads_durations() {
        assert_eq!(parse_seconds("1h30m"), Ok(5400));
        assert_eq!(parse_seconds("2d"), Ok(172800));
        assert_eq!(parse_seconds("1d1h1m1s"), Ok(90061));
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in ["", "5", "h", "1h1h", "1s1m", "5µ", "٣h", "99999999999s", "4000000000m", "1 h", "-1s"] {
            assert!(parse_seconds(text).is_err(), "{text:?}");
        }
    }
}
