"""Read requests to remember several things at once: a list below "Remember:", or "remember two things: … and …".

The rules of seven languages are in `languages/lists.json`. Each thing is returned as a request of its own.
"""

import re
from functools import cache

from msgspec import Struct, field

from clio.memory.preferences.own_sentences import mask_blocks
from clio.memory.preferences.rule_files import load_rule_file
from clio.text.lazy_regex import LazyRegex


class _ListRules(Struct, frozen=True, kw_only=True):
    """How users of a language ask to remember several things at once, as in "Remember:" above a list.

    Attributes:
        head: a request to remember without what is to be remembered. Its group `these` says that it follows, its group
            `count` how many things do; `{count}` stands for the numbers.
        order: the request to remember one thing.
        numbers: from one on.
    """

    head: str
    order: str
    and_: str = field(name="and")
    numbers: str


class ListedRequest(Struct, frozen=True, kw_only=True):
    """A request to remember one of several things, as if the user had written it in a sentence of its own.

    Attributes:
        language: its code, also "en".
        item: the thing as written.
    """

    language: str
    text: str
    item: str


_MAY_LIST = LazyRegex(
    r"remember|mind|memor|merk|behalt|reti?en|souvien|retenez|mémoris|tête|bien|recuerd|recorda|cuenta|lembr|guard|mente"
    r"|记|覚|記憶|メモ",
    re.I,
)
_ITEM = re.compile(r"[ \t　]*(?:[-*•·–+・●○]|\(?\d{1,2}[.)、．）]|[a-z]\))[ \t　]*(?P<item>\S.*)")
_MAX_ITEMS = 20


def read_lists(text: str) -> tuple[str, list[ListedRequest]]:
    """Return a message without its requests to remember several things, and these requests.

    The things are the items or lines below such a request, or what follows it in its line: "remember two things: …".
    """
    if not _MAY_LIST.search(text):
        return text, []
    masked = mask_blocks(text)
    found: list[ListedRequest] = []
    blanked = text
    for line in re.finditer(r".+", masked):
        for code, head in _list_heads().items():
            asked = head.match(line[0])
            if asked is None or (not asked["these"] and not _names_things(asked, is_first=not line.start())):
                continue
            if asked["rest"]:
                end = line.end()
                items = _divide_line(asked["rest"], asked["count"] or "", code)
            else:
                items, end = _list_items(masked, line.end(), has_colon=asked["mark"] in (":", "："))
            order = _list_rules()[code].order
            if items:
                found += [ListedRequest(language=code, text=order.format(one), item=one) for one in items]
                start = line.start() + asked.start("head")
                blanked = blanked[:start] + re.sub(r"[^\n]", " ", blanked[start:end]) + blanked[end:]
            break
    return blanked, found


def _names_things(asked: re.Match[str], *, is_first: bool) -> bool:
    """Whether a request without "these" is about what follows it: "Remember: a; b", "覚えて。…" at the beginning."""
    if asked["rest"] and asked["mark"] in ("。", "."):
        return is_first and not asked.start("head") and asked["mark"] == "。"
    return asked["mark"] not in ("?", "？") and (not asked["rest"] or re.search("[;；]", asked["rest"]) is not None)


def _list_rules() -> dict[str, _ListRules]:
    return load_rule_file("lists", dict[str, _ListRules])


@cache
def _list_heads() -> dict[str, re.Pattern[str]]:
    """Return by language the pattern of a line that asks to remember what follows."""
    return {
        code: re.compile(
            rf"(?:.*[.!?。！？]\s*)??(?P<head>{rules.head.replace('{count}', '|'.join(rules.numbers.split()))})"
            rf"\s*(?P<mark>[:：.。?？]|(?=$))\s*(?P<rest>.*)$",
            re.I,
        )
        for code, rules in _list_rules().items()
    }


def _list_items(text: str, at: int, *, has_colon: bool) -> tuple[list[str], int]:
    """Return the items of a list that begins at a place, or the lines below it, and the end of the last one."""
    items: list[str] = []
    end, is_list = at, False
    for line in re.finditer(r"[^\n]*(?:\n|$)", text[at:].removeprefix("\n")):
        found = _ITEM.match(line[0])
        if not line[0].strip():
            if items and not is_list:
                break
            continue
        if found is None and is_list:
            if not line[0].startswith((" ", "\t")):
                break
            items[-1] = f"{items[-1]} {line[0].strip()}"
        elif found is None and not items and not has_colon:
            break
        else:
            is_list = is_list or found is not None
            items.append(found["item"].strip() if found else line[0].strip())
        end = at + 1 + line.end()
    items = [one.rstrip(" .。;；,，、") for one in items[:_MAX_ITEMS] if len(one.split()) > 1 or not one.isascii()]
    return items, min(end, len(text))


def _divide_line(rest: str, count: str, code: str) -> list[str]:
    """Return the things that one line names; all of it if it is not clear where one ends."""
    rules = _list_rules()[code]
    numbers = rules.numbers.split()
    wanted = (
        numbers.index(count.casefold()) + 1 if count.casefold() in numbers else int(count) if count.isdigit() else 0
    )
    both = rf"\s*[,，、]?\s*(?:{rules.and_})\s*" if code in ("zh", "ja") else rf",?\s+(?:{rules.and_})\s*(?<=\s|['’])"
    ends = re.compile(r"(?<=[.!。！])\s*(?<!\d\.)(?=\S)(?![\w/])|(?<=[!。！])\s*(?=\S)|(?<=[.!])\s+")
    first = ends.split(rest)[0]
    for separator, text in (
        (r"\s*[;；]\s*", rest),
        (r"(?:^|\s+)\d{1,2}[.)]\s+", rest),
        (both, first),
        (rf"{both}|\s*[,，、]\s+|[，、]", first),
        (ends.pattern, rest),
    ):
        parts = [one.strip(" .。;；,，") for one in re.split(separator, text) if one.strip(" .。")]
        if len(parts) == wanted or (not wanted and len(parts) > 1 and separator.startswith((r"\s*[;", "(?:^"))):
            return parts
    return [first.strip(" .。")]
