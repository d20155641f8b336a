"""Whether a command's failure looks like the sandbox's doing, and what to say to the model then."""

import re

from clio.algorithms.late_pattern import LatePattern
from clio.sandbox.fence import Level

_FILES = LatePattern(
    r"Read-only file system|\bEROFS\b|Permission denied|\bEACCES\b|Operation not permitted|\bEPERM\b"
    r"|Device or resource busy|\bEBUSY\b|Invalid cross-device link",
    re.IGNORECASE,
)
NETWORK = LatePattern(
    r"Network is unreachable|\bENETUNREACH\b|Could not resolve|Couldn't resolve|\bEAI_AGAIN\b|\bENOTFOUND\b"
    r"|Temporary failure in name resolution|Name or service not known|No address associated with hostname"
    r"|dial (?:tcp|udp)|getaddrinfo|error sending request|Failed to establish a new connection",
    re.IGNORECASE,
)
LOOPBACK = LatePattern(r"Connection refused|\bECONNREFUSED\b|Failed to connect|Couldn't connect", re.IGNORECASE)
_TMP = LatePattern(r"/tmp/[^\n]*No such file|No such file[^\n]*/tmp/", re.IGNORECASE)


def hint(output: str, level: Level, *, network: bool) -> str:
    """One line on the likely cause and the way out; "" where nothing points to the sandbox."""
    if level == "off":
        return ""
    if not network and NETWORK.search(output):
        cause = "it has no network"
    elif not network and level != "landlock" and LOOPBACK.search(output):
        cause = "each command has a network of its own, so a server is reached only by the command that started it"
    elif not network and level == "landlock" and _FILES.search(output):
        cause = "it can write only the project, caches and /tmp, and open no sockets"
    elif _FILES.search(output):
        cause = "it can write only the project, caches and /tmp, and neither .git/config, .git/hooks nor .clio"
    elif level == "bwrap" and _TMP.search(output):
        cause = "it has a /tmp of its own, where only commands in the sandbox put files"
    else:
        return ""
    return (
        f"[this may be the sandbox ({level}): {cause}. If the command needs more, call it again with outside=true: "
        "the user is then asked]"
    )
