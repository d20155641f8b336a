"""If tree-sitter cannot be imported, clio runs and asks about every command."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
sys.modules[sys.argv[1]] = None
from pathlib import Path
from clio.security.actions import RunCommand
from clio.security.approval import Ask, Deny, Policy
from clio.security.actions import Workspace
from clio.security.shell.parser import NO_GRAMMAR, has_grammar, parse_command_line

assert not has_grammar()
assert parse_command_line("ls").unknown == (NO_GRAMMAR,)
for mode in ("ask", "edits", "all", "plan"):
    policy = Policy(Workspace(Path.cwd()), mode)
    for command in ("ls", "git status", "rm -rf /", "x"):
        verdict = policy.judge(RunCommand(command=command, cwd=Path.cwd()))
        assert isinstance(verdict, Deny if mode == "plan" or command == "rm -rf /" else Ask), (mode, command, verdict)
        assert isinstance(verdict, Deny) or verdict.rule is None
from clio.entrypoints.doctor.machine_checks import check_grammar
[line] = check_grammar(None)
print(line)
"""


@pytest.mark.parametrize("module", ["tree_sitter", "tree_sitter_bash"])
def test_every_command_needs_approval(module: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "asks about every command" in done.stdout
