"""A home folder and a project on disk, and the configuration that clio loads there."""

import textwrap
from pathlib import Path

from clio.config.layers import load_config
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.trust import trust_project


class Harness:
    """Writes configuration files; `load` reads them as a start of clio would."""

    def __init__(self, root: Path) -> None:
        self.user = (root / "user").resolve()
        self.project = self.user / "project"
        (self.project / ".git").mkdir(parents=True)
        self.home = self.user / ".clio"
        self.home_file = self.home / "config.yaml"
        self.project_file = self.project / ".clio" / "config.yaml"

    def write_home(self, text: str) -> None:
        """Write the user's own file."""
        self._write(self.home_file, text)

    def write_project(self, text: str) -> None:
        """Write the project's file."""
        self._write(self.project_file, text)

    def trust(self) -> None:
        """Trust the project with everything it currently asks for."""
        trust_project(self.load())

    def load(
        self, env: dict[str, str] | None = None, config_file: Path | None = None, **flags: str | bool
    ) -> LoadedConfig:
        """Return the configuration of a start in the project; flags by the names of Config fields."""
        options = Options(cwd=self.project, overrides=dict(flags), config_file=config_file)
        return load_config(options, {"HOME": str(self.user), "USERPROFILE": str(self.user)} | (env or {}))

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
