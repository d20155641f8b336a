"""What git is told where clio only looks: whatever a repository's settings name, no other program is started.

Two things have no switch: the filters of `filter.*.clean`, without which git cannot compare, and what a flag of the
command itself must refuse, `--no-ext-diff` and `--no-textconv`.
"""

NO_PROGRAMS = (
    *("-c", "core.fsmonitor=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "status.submoduleSummary=false"),
)
"""For commands that may change something too: hooks are the person's own, and run."""
LOOKING = (*NO_PROGRAMS, "-c", "core.hooksPath=/dev/null")
"""Writing the index that a look has refreshed would run `post-index-change`."""
