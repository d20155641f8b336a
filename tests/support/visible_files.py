"""Files that programs in the sandbox can read even if the tests are in /tmp, which the sandbox replaces."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def make_visible(file: Path) -> Path:
    """Return a copy of a file in /var/tmp, which is removed at exit; the file itself if it is not in /tmp."""
    if not file.resolve().is_relative_to("/tmp"):
        return file
    folder = tempfile.mkdtemp(prefix="clio-visible-", dir="/var/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(shutil.copy(file, folder))
