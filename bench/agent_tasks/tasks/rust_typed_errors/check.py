"""Check the error type and its messages, that no code compares texts, and the output of the program."""

import tempfile
from pathlib import Path

from bench.agent_tasks.result import PYTHON, Result

HIDDEN = """
#[cfg(test)]
mod hidden {
    use crate::{load, ConfigError};

    #[test]
    fn errors_are_values() {
        let bad = ConfigError::BadNumber { key: "port".to_string(), text: "x".to_string() };
        for (text, error, message) in [
            ("colour=red", ConfigError::UnknownKey("colour".to_string()), "unknown key: colour"),
            ("port=x", bad.clone(), "port is no number: x"),
            ("workers=2", ConfigError::Missing("port"), "missing: port"),
        ] {
            let found = load(text).unwrap_err();
            assert_eq!(found, error);
            let boxed: Box<dyn std::error::Error> = Box::new(found);
            assert_eq!(boxed.to_string(), message);
        }
        assert_eq!(load("port=1\\nworkers = 2").unwrap().workers, 2);
    }
}
"""
PROGRAM = """
import subprocess, sys

for text, output, code in [("port=80", "port 80 with 4 workers", 0), ("", "missing: port (add a line port=8080)", 3),
                           ("port=q", "port is no number: q", 1), ("x=1", "unknown key: x", 1)]:
    ran = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == (output + "\\n", code), ran
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    with tempfile.TemporaryDirectory(prefix="agent-task-rust-") as folder:
        tests, program = str(Path(folder) / "tests"), str(Path(folder) / "program")
        build = ["rustc", "--edition", "2021", "-A", "warnings"]
        files = {"src/hidden_lib.rs": result.read("src/lib.rs") + HIDDEN, "program.py": PROGRAM}
        result.expect_success(
            "the errors are not as asked",
            [*build, "--test", "src/hidden_lib.rs", "-o", tests],
            [tests, "-q"],
            files=files,
        )
        result.expect_success(
            "the program prints something else",
            [*build, "src/main.rs", "-o", program],
            [*PYTHON, "program.py", program],
            files=files,
        )
    result.expect("starts_with" not in result.read("src/main.rs"), "main.rs still compares texts")
    result.expect(result.read("src/error.rs"), "there is no src/error.rs")
    result.expect_only_changed("src")
