"""The `.clio` folder of a project in which the Perl original was used: a copy of a real one."""

import gzip
import shutil
from pathlib import Path

PERL = Path(__file__).parent.parent / "fixtures" / "perl"
LONG = "7af30b78-5889-4770-911e-88f8eb43a23e"
"""With tool calls, a todo list and complete tool output."""
NAMED = "f6162e4f-b1b6-46db-a87c-4a5fa4359a6a"
BARE = "6dde97f9-3762-4d92-a456-1e7f9853736e"
"""A system prompt and nothing else."""
TWICE = "18c38f31-a3f2-4f50-ba0a-8628c8fb625d"
"""The user's text was encoded as UTF-8 twice."""
TRIMMED = "11111111-2222-4333-8444-trimmedsess"
"""Most of its messages are only in the archive."""
OUTPUT = "".join(f"log line {number}\n" for number in range(1, 5_001))


def lay_out_perl_tree(folder: Path) -> Path:
    """Copy the tree to `folder`, which becomes the `.clio` of a project, and unpack its large files."""
    for path in sorted(PERL.rglob("*")):
        if not path.is_file():
            continue
        target = folder / path.relative_to(PERL)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".gz":
            target.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        else:
            shutil.copyfile(path, target)
    return folder
