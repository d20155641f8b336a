"""Count the tokens of a text with tiktoken. Run as a program, because loading an encoding takes 0.4 s and 80 MB.

    python -P calibrate_child.py FILE SHA256 NAME < text

Prints the count, or the reason for a failure on standard error. It imports nothing from clio and cannot use the
network: the encoding is read from FILE only, and an audit hook refuses connections.
"""

import base64
import hashlib
import os
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Count the text on standard input; return 1 if the file is not the expected encoding."""
    path, sha256, name = arguments
    sys.addaudithook(refuse_network)
    if hasattr(os, "nice"):
        os.nice(10)  # a running turn has priority
    data = Path(path).read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        sys.stderr.write(f"{path!r} is not the encoding {name!r}\n")
        return 1
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.write(f"{count(data, name, text)}\n")
    return 0


def count(data: bytes, name: str, text: str) -> int:
    """Return the number of tokens by the encoding in `data`, with the pattern of tiktoken's encoding `name`."""
    import tiktoken
    from tiktoken_ext import openai_public  # pyright: ignore[reportMissingTypeStubs]

    def get_loaded_ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return ranks  # replaces tiktoken's download and second hash

    pairs = (line.split() for line in data.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    openai_public.load_tiktoken_bpe = get_loaded_ranks
    return len(tiktoken.Encoding(**getattr(openai_public, name)()).encode_ordinary(text))


def refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook that refuses connections: it cannot be removed, and sees events of the whole process."""
    if event.startswith("socket."):
        raise PermissionError(f"counting tokens needs no network: {event}")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
