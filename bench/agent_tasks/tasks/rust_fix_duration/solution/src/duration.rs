/// The seconds of a text such as `2h5m`; units `d`, `h`, `m`, `s` in this order, each at most once.
pub fn parse_seconds(text: &str) -> Result<u32, String> {
    let mut units = [('d', 86400), ('h', 3600), ('m', 60), ('s', 1)].iter();
    let mut rest = text;
    let mut total: u32 = 0;
    if text.is_empty() {
        return Err("a duration is empty".to_string());
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or("a unit is missing at the end")?;
        let number: u32 = rest[..end].parse().map_err(|error| format!("{:?} is no number: {error}", &rest[..end]))?;
        let unit = rest[end..].chars().next().ok_or("a unit is missing at the end")?;
        let (_, seconds) = units
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| format!("unit {unit} is unknown, or not in the order d, h, m, s"))?;
        total = number
            .checked_mul(*seconds)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| format!("{text} is too long"))?;
        rest = &rest[end + unit.len_utf8()..];
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
