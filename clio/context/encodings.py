"""The tokenisers whose files may lie on this machine: which one counts for a model, and where its file would be."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clio.providers.urls import host_of

FOLDER_NAME = "encodings"
_SERVER = "https://openaipublic.blob.core.windows.net/encodings"
_TEMP_FOLDERS = ("/tmp", "/var/tmp", "/usr/tmp") if os.name != "nt" else ()
_OLDER_MODELS = ("gpt-4-", "gpt-3.5", "text-embedding-3", "text-embedding-ada")


class Encoding(Struct, frozen=True, kw_only=True):
    """One tokeniser. The hash is the one tiktoken itself demands."""

    name: str
    url: str
    sha256: str

    @property
    def file_name(self) -> str:
        """What tiktoken calls the file: the SHA-1 of its address."""
        return hashlib.sha1(self.url.encode("utf-8"), usedforsecurity=False).hexdigest()


O200K = Encoding(
    name="o200k_base",
    url=f"{_SERVER}/o200k_base.tiktoken",
    sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
CL100K = Encoding(
    name="cl100k_base",
    url=f"{_SERVER}/cl100k_base.tiktoken",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
ENCODINGS = (O200K, CL100K)


def encoding_for(model: str) -> Encoding:
    """The tokeniser that counts for a model: its own where it is known, else o200k_base as the nearest guess."""
    name = model.rpartition("/")[2].lower()
    return CL100K if name == "gpt-4" or name.startswith(_OLDER_MODELS) else O200K


def is_hosted_openai(base_url: str) -> bool:
    """Whether OpenAI itself, or Azure, answers there: only their models are counted exactly by these tokenisers."""
    host = host_of(base_url)
    return host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))


def encoding_folders(env: Mapping[str, str], home: Path) -> Sequence[Path]:
    """Where encodings may lie: clio's own folder, then where tiktoken looks."""
    named = env.get("TIKTOKEN_CACHE_DIR") or env.get("DATA_GYM_CACHE_DIR")
    if named:
        return (home / FOLDER_NAME, Path(named))
    # As tempfile.gettempdir, which would write a file to see whether it can.
    given = (env.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return (home / FOLDER_NAME, *(Path(folder, "data-gym-cache") for folder in (*given, *_TEMP_FOLDERS) if folder))


def find_encoding(encoding: Encoding, folders: Sequence[Path]) -> Path | None:
    """The first file that bears its name; whether it is whole is for `is_intact`, which has to read it."""
    paths = (folder / encoding.file_name for folder in folders)
    return next((path for path in paths if _is_file(path)), None)


def is_intact(path: Path, encoding: Encoding) -> bool:
    """Whether the file is the encoding. Reads it (4 MB). Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest() == encoding.sha256


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder of somebody else's, such as another user's cache in /tmp
        return False
