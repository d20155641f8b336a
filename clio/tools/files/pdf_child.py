"""Print the text of a PDF file as JSON. Run as a program, because the file may be hostile.

    python -P pdf_child.py MAX_CHARS < file.pdf

Prints `{"pages": [text, …], "total": n}`, with pages until MAX_CHARS are reached, or `{"error": "sentence"}`. It
imports nothing from clio, cannot use the network, and is limited in memory; the caller limits its time.
"""

import json
import sys
from typing import Any

_MAX_MEMORY = 1 << 30
_MAX_CPU_S = 30


def extract_pages(data: bytes, max_chars: int) -> dict[str, Any]:
    """Return the text of the pages, or the reason why there is none."""
    import io
    import logging

    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.disable(logging.CRITICAL)  # pypdf reports each oddity of a file
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it is protected by a password"}
        pages: list[str] = []
        for page in reader.pages:
            pages.append(page.extract_text())
            if sum(map(len, pages)) > max_chars:
                break
        return {"pages": pages, "total": len(reader.pages)}
    except (PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, OSError) as error:
        return {"error": f"it is damaged ({type(error).__name__})"}  # pypdf raises all of these for broken files
    except (RecursionError, MemoryError):
        return {"error": "it is too complicated"}


def main() -> None:
    """Read a PDF from standard input and print its text."""
    if sys.platform != "win32":  # which has no such limits
        import resource
        from contextlib import suppress

        with suppress(ValueError, OSError):  # a lower limit is in force
            resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_S, _MAX_CPU_S))  # also if the caller was killed
    sys.addaudithook(refuse_network)
    sys.stdout.write(json.dumps(extract_pages(sys.stdin.buffer.read(), int(sys.argv[1]))))


def refuse_network(event: str, _arguments: Any) -> None:
    """Raise for an attempt to connect or to start a program: a file must not cause either."""
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        raise PermissionError(event)


if __name__ == "__main__":
    main()
