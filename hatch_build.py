"""Fill in what the metadata of a distribution takes from the repository's address: URLs, and the readme's links.

A page of a package index has no folder beside it, so links of README.md such as `docs/memory.md` become absolute.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

BRANCH = "main"
_LINK = re.compile(r"(?P<start>(?P<picture>!?)\[[^\]]*\]\()(?P<target>(?![a-z]+:|#)[^)\s]+)(?P<end>\))")
_SOURCE = re.compile(r"(?P<start>\b(?:src|srcset|href)=\")(?P<target>(?![a-z]+:|#)[^\"]+)(?P<end>\")")


class MetadataHook(MetadataHookInterface):
    """Called by hatchling when it reads pyproject.toml."""

    def update(self, metadata: dict) -> None:
        """Add `urls` and `readme`."""
        repository = self.config["repository"].rstrip("/")
        metadata["urls"] = make_urls(repository)
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": make_links_absolute(text, repository)}


def make_urls(repository: str) -> dict[str, str]:
    """Return the project's URLs."""
    return {
        "Repository": repository,
        "Documentation": f"{repository}/blob/{BRANCH}/docs/index.md",
        "Changelog": f"{repository}/blob/{BRANCH}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def make_links_absolute(text: str, repository: str) -> str:
    """Return Markdown whose links into the repository are absolute; pictures lead to the file itself, not its page."""

    def replace_link(match: re.Match[str]) -> str:
        kind = "raw" if match["picture"] else "blob"
        return f"{match['start']}{repository}/{kind}/{BRANCH}/{match['target']}{match['end']}"

    def replace_source(match: re.Match[str]) -> str:
        kind = "blob" if match["start"].startswith("href") else "raw"
        return f"{match['start']}{repository}/{kind}/{BRANCH}/{match['target']}{match['end']}"

    # Two passes, because the text of a link may itself be a picture.
    return _SOURCE.sub(replace_source, _LINK.sub(replace_link, text))
