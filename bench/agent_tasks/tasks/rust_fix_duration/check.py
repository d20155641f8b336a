"""Check that the unchanged test of the start passes, and that no text makes the parser panic."""

import tempfile
from pathlib import Path

from bench.agent_tasks.result import Result

HIDDEN = """
#[cfg(test)]
mod hidden {
    use crate::parse_seconds;

    #[test]
    fn no_text_panics() {
        let parts = ["1", "0", "9999999999", "d", "h", "m", "s", "x", " ", "-", "+", "é", "५", "\\u{1F600}", "\\0"];
        let mut texts = vec![String::new()];
        for _ in 0..4 {
            texts = texts.iter().flat_map(|t| parts.iter().map(move |p| format!("{t}{p}"))).collect();
            for text in &texts {
                let _ = parse_seconds(text);
            }
        }
    }

    #[test]
    fn values() {
        for (text, seconds) in [("0s", 0), ("1m1s", 61), ("49710d6h28m15s", u32::MAX), ("007h", 25200)] {
            assert_eq!(parse_seconds(text).as_ref(), Ok(&seconds), "{text}");
        }
        for text in ["", "1", "s", "1h2h", "1m1h", "49710d6h28m16s", "+1s", "1s ", "1S", "५s"] {
            assert!(parse_seconds(text).is_err(), "{text:?} is accepted");
        }
    }
}
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    tests = (result.start / "src/duration.rs").read_text(encoding="utf-8").partition("#[cfg(test)]")[2]
    result.expect(tests in result.read("src/duration.rs"), "the tests of src/duration.rs were changed")
    with tempfile.TemporaryDirectory(prefix="agent-task-rust-") as folder:
        binary = str(Path(folder) / "tests")
        build = ["rustc", "--edition", "2021", "--test", "src/hidden_lib.rs", "-o", binary]
        crate = result.read("src/lib.rs") + HIDDEN
        result.expect_success("the parser is still wrong", build, [binary, "-q"], files={"src/hidden_lib.rs": crate})
    result.expect_only_changed("src")
