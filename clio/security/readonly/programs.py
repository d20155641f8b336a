"""Grammars of system programs that only read: coreutils, text filters, and the shell's own commands."""

from clio.security.readonly.grammar import Judge, judge_by

_GREP = """
    -E -F -G -P -i -y -v -w -x -z -c -L -l -q -s -b -H -h -n -o -T -Z -a -I -U -r -R -u -#
    -e= -f=path -m=number -A=number -B=number -C=number -D=(skip|read) -d=(skip|read|recurse)
    --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp= --file=path --ignore-case --no-ignore-case
    --invert-match --word-regexp --line-regexp --null-data --count --color? --colour? --files-without-match
    --files-with-matches --max-count=number --only-matching --quiet --silent --no-messages --byte-offset
    --with-filename --no-filename --label= --line-number --initial-tab --null --after-context=number
    --before-context=number --context=number --text --binary-files= --exclude= --exclude-from=path --exclude-dir=
    --include= --recursive --dereference-recursive --line-buffered --binary --version --help
    ; path*
    """

PROGRAMS: dict[str, Judge] = {
    "head": judge_by(
        "-c=number -n=number -q -v -z -# --bytes=number --lines=number --quiet --silent --verbose --zero-terminated"
        " --version --help ; path*"
    ),
    "uniq": judge_by(
        "-c -d -D -i -u -z -f=number -s=number -w=number --count --repeated --all-repeated? --ignore-case --unique"
        " --zero-terminated --skip-fields=number --skip-chars=number --check-chars=number --group? --version --help"
        " ; path?",
        order="first",
    ),
    "grep": judge_by(_GREP, follows=("-R", "--dereference-recursive")),
}
