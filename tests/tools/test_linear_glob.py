"""Globs with many wildcards match like Python's regular expressions, and quickly."""

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from clio.tools.files.file_index import LinearGlob, compile_glob, translate_glob

_GLOBS = st.lists(
    st.sampled_from(["*", "a", "b", "/", "?", "**/", "**", "[ab]", "[!a]", ".", r"\*"]), min_size=1, max_size=7
)


@settings(max_examples=500)
@given(_GLOBS.map("".join), st.text("ab/.*\n", max_size=8), st.booleans())
def test_both_implementations_agree(glob: str, path: str, as_git: bool) -> None:
    expected = re.fullmatch(translate_glob(glob, as_git=as_git), path) is not None
    assert LinearGlob(glob, as_git=as_git).fullmatch(path) == expected


def test_a_glob_of_sixty_stars_is_matched_quickly() -> None:
    began = time.process_time()
    assert not compile_glob("*a" * 60 + "b", as_git=True)("a" * 255)
    assert not compile_glob("{a,b}*" * 5 + "c")("ab" * 100)
    assert time.process_time() - began < 1
