"""A sample of the random calls of `command_options_fuzz`; `make fuzz-commands` runs as many as requested."""

import shutil
import sys

import pytest

from tests.security.command_options_fuzz import fuzz

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("git") is None, reason="it compares processes and files as Linux has them"
)


def test_no_call_that_needs_no_approval_changes_or_shows_anything() -> None:
    result = fuzz(300, 4711, help_text=False, trace=False)
    assert result.found == []
    assert result.counts["judged"] == 300
    assert result.counts["run unasked"] > 30
