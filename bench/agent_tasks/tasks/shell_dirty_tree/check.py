"""Check that the script works, that one commit contains only the fix, and that the user's changes are unchanged."""

from bench.agent_tasks.result import Result

SUBJECT = "rotate: keep names with blanks and the right number of files"
HIDDEN = """
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in "app.log" "my app *.log"; do
    for round in 1 2 3 4 5 6; do
        echo $round > "$folder/$name"
        sh bin/rotate.sh "$folder/$name" 3
        [ ! -e "$folder/$name" ] || { echo "the file itself is still there"; exit 1; }
    done
    kept=$(cat "$folder/$name.1" "$folder/$name.2" "$folder/$name.3" | tr -d '\\n')
    [ "$kept" = 654 ] || { echo "kept wrongly"; exit 1; }
    [ ! -e "$folder/$name.4" ] || { echo "too many"; exit 1; }
done
sh bin/rotate.sh "$folder/none.log" 3
"""


def check(result: Result) -> None:
    """Add the problems of the result."""
    result.expect_success("rotate.sh is still wrong", ["sh", "hidden.sh"], files={"hidden.sh": HIDDEN})
    result.expect_unchanged("notes.md", "bin/report.sh", "scratch.txt")
    subjects = result.git("log", "--format=%s").splitlines()
    result.expect(subjects == [SUBJECT, "Add the project"], f"the commits are {subjects}")
    committed = set(result.git("show", "--name-only", "--format=", "HEAD").split())
    result.expect("bin/rotate.sh" in committed, "the fix is not committed")
    theirs = committed & {"notes.md", "bin/report.sh", "scratch.txt"}
    result.expect(not theirs, f"the user's work was committed: {', '.join(sorted(theirs))}")
    status = set(result.git("status", "--porcelain").splitlines())
    for line in (" M bin/report.sh", " M notes.md", "?? scratch.txt"):
        result.expect(line in status, f"git status no longer says {line!r}")
    result.expect(not result.git("stash", "list"), "a stash was left")
