"""Finding an entry by the handle a person or a model typed."""

from collections.abc import Iterable

from clio.errors import UserError

_SHOWN = 5


def find_handle(typed: str, known: Iterable[str]) -> str:
    """The handle that was meant: itself, or the only one that begins so.

    Raises UserError that names those that begin so where there are several, or those that look alike.
    """
    handles, wanted = list(known), typed.strip()
    if wanted in handles:
        return wanted
    wanted = wanted.casefold()
    begun = [handle for handle in handles if wanted and handle.casefold().startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        more = f" and {len(begun) - _SHOWN} more" if len(begun) > _SHOWN else ""
        raise UserError(f"{typed!r} begins several entries: {', '.join(begun[:_SHOWN])}{more}; give more of the id.")
    import difflib  # only a mistake has to pay for it

    near = difflib.get_close_matches(wanted, handles, n=3, cutoff=0.5)
    hint = f"near ones are {', '.join(near)}" if near else "list the entries for their ids"
    raise UserError(f"There is no entry {typed!r} in the project knowledge; {hint}.")
