"""Which pictures of a request are sent: as many as its server takes, without those it refused.

A picture that is left out is replaced by a sentence in its message, so that the conversation goes on without it.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from clio.images import image_size
from clio.messages import ImagePart, Message, ToolMessage, UserMessage
from clio.providers.base import ChatRequest, Lessons
from clio.providers.failure import Failure, extract_complaint
from clio.text.json_data import as_list, as_text, as_token_count
from clio.text.lazy_regex import LazyRegex

# Names of lessons.
_TAKES, _MOST, _REFUSED = "takes_pictures", "most_pictures", "refused_pictures"
_MAX_REFUSED = 40
_ROOM_AFTER = 0.75
"""A request over a limit is brought below it by this much, so that the next pictures do not change it again: what an
earlier request sent is read from the server's prompt cache."""
_WORTH_DROPPING = 500_000
"""Bytes of pictures; where a request has fewer, they are not why it is too large."""


class PictureLimits(Struct, frozen=True, kw_only=True):
    """What one request may hold. total_bytes: of the pictures themselves; encoded they are a third larger.

    crowd: more pictures than this may have `crowd_side` pixels a side only.
    """

    total_bytes: int = 20_000_000
    count: int = 50
    crowd: int = 0
    crowd_side: int = 0


# Limits by the end of the host's name; byte limits leave room for base64, a third more. Looked up in November 2026:
# - Anthropic: platform.claude.com/docs/en/build-with-claude/vision: 32 MB a request; 100 images for models with a
#   window of 200,000 tokens (600 for others); 2,000 pixels a side where there are more than 20 images.
# - Gemini: 20 MB a request, stated by Google's staff at discuss.ai.google.dev.
# - Vertex: not verified; the limit of Gemini is used, and a refusal is learned.
# - Groq: console.groq.com/docs/vision: 4 MB a request with base64. The count of 5 is not verified; a refusal
#   is learned.
# - Mistral: the count of 8 is not verified; a refusal is learned.
# - OpenAI: 50 MB and 500 images a request, in a copy of its guide on images; not verified on its own page.
# The limits of all other servers (the defaults of `PictureLimits`) are guesses; a refusal is learned.
_LIMITS: tuple[tuple[str, PictureLimits], ...] = (
    ("anthropic.com", PictureLimits(total_bytes=22_000_000, count=100, crowd=20, crowd_side=2_000)),
    ("generativelanguage.googleapis.com", PictureLimits(total_bytes=14_000_000)),
    ("aiplatform.googleapis.com", PictureLimits(total_bytes=14_000_000)),
    ("api.groq.com", PictureLimits(total_bytes=3_000_000, count=5)),
    ("api.mistral.ai", PictureLimits(count=8)),
    ("api.openai.com", PictureLimits(total_bytes=36_000_000, count=500)),
)

_PICTURE = r"(?:images?|pictures?|vision|visual|multi-?modal|image_url|input_image)"
_TAKES_NONE = LazyRegex(
    # "does not support images", "doesn't accept image input": what follows the noun is no kind, size or format of it
    rf"(?:not|n't) (?:currently )?(?:support|accept|take)\w*\s+(?:any |the )?{_PICTURE}"
    r"(?:[\s-]+(?:inputs?|content|understanding|modalit\w+|capabilit\w+|data|messages?|parts?|requests?))?"
    r"\s*(?:$|[.,;:!)'\"`\n]|\b(?:and|but|in|for|as|yet|at|on)\b)"
    rf"|\b{_PICTURE}[\s-]+(?:(?:inputs?|content|modality|data|parts?)\s+){{0,2}}(?:is|are) "
    r"(?:not (?:supported|enabled|allowed|available|accepted)|only supported (?:by|for|with))"
    rf"|not a {_PICTURE}[\s-]|support image input|text[- ]only model|mmproj|no (?:image|vision) support"
    r"|unknown variant\W+(?:image_url|image|input_image)\b|invalid content type\W.{0,20}image_url"
    r"|content\W.{0,20}(?:must|should) be a (?:valid )?string"
    r"|(?:image_url|input_image)\W.{0,40}supported values are:\W+(?:text|input_text)\W",
    re.IGNORECASE,
)
_COUNT = LazyRegex(
    rf"(?:at most|up to|maximum of|max of|limit of|more than|only)\s+\d+\s+{_PICTURE}"
    rf"|too many {_PICTURE}|(?:number|count) of {_PICTURE}"
    rf"|(?:maximum|max|limit)\D{{0,20}}{_PICTURE} (?:per|in one|in a) (?:request|prompt|message)",
    re.IGNORECASE,
)
_OVER = LazyRegex(r">\s*(\d+)")
_CROWD = LazyRegex(r"many-image requests?", re.IGNORECASE)
_ABOUT_PICTURES = LazyRegex(rf"(?<![-a-z0-9]){_PICTURE}(?![-a-z0-9])|\bimage/|media_type|\bbase64\b", re.IGNORECASE)
"""Names of models such as "image-maker" are something else."""
_REFUSAL = LazyRegex(
    r"exceed|too (?:large|big|small|long|high)|larger than|smaller than|at (?:least|most)|maxim|minim|dimension"
    r"|unsupported|invalid(?!_request)|not (?:be |a )?(?:valid|supported|allowed|process|decod|read|recogni|match)"
    r"|(?:could|can|did)(?: not|n't|not)|(?:does|do)(?: not|n't) (?:match|represent|support|accept|allow|conform)"
    r"|too many|appears to be|unable|fail|corrupt|damaged|mismatch|should be|must be"
    r"|safety|polic(?:y|ies)|moderation",
    re.IGNORECASE,
)
_PIXELS = LazyRegex(r"(\d[\d,]*)\s*(?:pixels?|px)\b", re.IGNORECASE)
_MEGABYTES = LazyRegex(r"(\d+(?:\.\d+)?)\s*(?:MB|MiB)\b", re.IGNORECASE)
_NUMBER = LazyRegex(r"\d[\d,]*")
_BUDGET = LazyRegex(r"rate[_ -]?limit|per[ _-]?minute|\btpm\b|quota", re.IGNORECASE)


class _Sent(Struct, frozen=True, kw_only=True):
    """One picture of a request."""

    message: str
    part: ImagePart
    data: bytes

    @property
    def place(self) -> tuple[str, str]:
        return self.message, self.part.blob

    @property
    def side(self) -> int:
        """Its larger side in pixels, 0 where that is not known."""
        return max(image_size(self.data) or (0,))


class SentPictures:
    """The pictures that one model of one server is sent.

    host: the server's. lessons: where what it refused is kept; see `Lessons`.
    """

    def __init__(self, model: str, server: str, host: str, lessons: Lessons) -> None:
        self._model = model
        self._server = server
        self._limits = next((limits for end, limits in _LIMITS if host.endswith(end)), PictureLimits())
        self._lessons = lessons
        self._left_out: set[tuple[str, str]] = set()  # beyond a limit, by message and handle
        self._accepted: set[str] = set()  # handles of those in requests that were answered
        self._sent: list[_Sent] = []  # of the last request, the oldest first
        self._copies: dict[str, tuple[Message, tuple[str, ...], Message]] = {}

    def fit_request(self, request: ChatRequest) -> ChatRequest:
        """The request with the pictures its server takes; the others are named in their messages."""
        refused = set(map(as_text, as_list(self._lessons.get(_REFUSED))))
        present = list(_pictures_in(request))
        if self._lessons.get(_TAKES, True) is False:
            kept: list[_Sent] = []
        else:
            kept = [one for one in present if one.part.blob not in refused and one.place not in self._left_out]
            kept = self._within_limits(kept)
        self._sent = kept
        if len(kept) == len(present):
            return request
        places = {one.place for one in kept}
        messages = tuple(self._without(message, request, places, refused) for message in request.messages)
        self._copies = {message.id: copy for message in messages if (copy := self._copies.get(message.id))}
        return structs.replace(request, messages=messages)

    def mark_accepted(self) -> None:
        """The last request was answered, so its pictures can be read."""
        self._accepted.update(one.part.blob for one in self._sent)

    def adapt(self, failure: Failure) -> str | None:
        """Leave pictures out of later requests after a refusal of the last one; the sentence for the user.

        None where the refusal is not about pictures. Each call leaves at least one out, so this ends.
        """
        if not self._sent:
            return None
        words = extract_complaint(failure.body)
        if failure.status == 413:
            return self._make_smaller(words)
        if (said := self._adapt_count(words)) is not None:
            return said
        if _TAKES_NONE.search(words):
            return self._take_none()
        if not (_ABOUT_PICTURES.search(words) and _REFUSAL.search(words)):
            return None
        blamed = self._blamed(words)
        handles = dict.fromkeys(one.part.blob for one in blamed)
        known = [as_text(handle) for handle in as_list(self._lessons.get(_REFUSED))]
        self._lessons[_REFUSED] = [*known, *handles][-_MAX_REFUSED:]
        return (
            f"{self._server} refused {_named(blamed)}: the conversation goes on without; a smaller copy as png or jpeg "
            "may be accepted"
        )

    def _within_limits(self, pictures: list[_Sent]) -> list[_Sent]:
        limits = self._limits
        count = min(limits.count, as_token_count(self._lessons.get(_MOST)) or limits.count)
        if limits.crowd and len(pictures) > limits.crowd and any(one.side > limits.crowd_side for one in pictures):
            count = min(count, limits.crowd)
        if len(pictures) <= count and sum(len(one.data) for one in pictures) <= limits.total_bytes:
            return pictures
        return self._drop_oldest(pictures, limits.total_bytes, count)

    def _drop_oldest(self, pictures: list[_Sent], total_bytes: int, count: int) -> list[_Sent]:
        """The newest pictures well within these limits."""
        most_bytes, most = total_bytes * _ROOM_AFTER, max(int(count * _ROOM_AFTER), 1)
        kept: list[_Sent] = []
        used = 0
        for one in reversed(pictures):
            used += len(one.data)
            is_newest = not kept and used <= total_bytes
            if not is_newest and (used > most_bytes or len(kept) >= most):
                break
            kept.append(one)
        kept.reverse()
        self._left_out.update(one.place for one in pictures[: len(pictures) - len(kept)])
        return kept

    def _make_smaller(self, words: str) -> str | None:
        """After a request that was too large by its bytes."""
        total = sum(len(one.data) for one in self._sent)
        if total < _WORTH_DROPPING or _BUDGET.search(words):
            return None
        before = len(self._sent)
        kept = self._drop_oldest(self._sent, max(total // 2, 1), before) if before > 1 else []
        dropped = self._sent[: before - len(kept)]
        self._left_out.update(one.place for one in dropped)
        return f"the request is too large for {self._server}: {_named(dropped)} left out"

    def _adapt_count(self, words: str) -> str | None:
        found = _COUNT.search(words)
        most = len(self._sent) - 1
        if _CROWD.search(words):
            most = min(20, most)
        elif found is None:
            return None
        else:
            sentence = words[found.start() : found.end() + 80]
            numbers = [int(number) for number in _OVER.findall(sentence) or re.findall(r"\d+", sentence)]
            if 0 in numbers:
                return self._take_none()
            most = min([*numbers, most])
        if most < 1:
            return None
        self._lessons[_MOST] = most
        return f"{self._server} takes {most} pictures in one request: older ones are left out"

    def _take_none(self) -> str:
        self._lessons[_TAKES] = False
        return (
            f"{self._model} takes no pictures: their names are sent instead; /model switches to a model that takes them"
        )

    def _blamed(self, words: str) -> list[_Sent]:
        """The pictures a refusal is about: those it describes, else the newest that were never accepted, else all."""
        numbers = {int(number.replace(",", "")) for number in _NUMBER.findall(words)}
        sides = [int(number.replace(",", "")) for number in _PIXELS.findall(words)]
        sizes = [float(number) * 1_000_000 for number in _MEGABYTES.findall(words)]
        described = [
            one
            for one in self._sent
            if numbers & {len(one.data), _encoded_bytes(one.data)}
            or (sides and one.side > min(sides))
            or (sizes and _encoded_bytes(one.data) > min(sizes))
        ]
        if described:
            return described
        fresh = [one for one in self._sent if one.part.blob not in self._accepted]
        return [one for one in fresh if one.message == fresh[-1].message] or list(self._sent)

    def _without(
        self, message: Message, request: ChatRequest, kept: set[tuple[str, str]], refused: set[str]
    ) -> Message:
        """The message without the pictures that are not kept; the same object for as long as they are the same."""
        if not isinstance(message, UserMessage | ToolMessage):
            return message
        gone = [part for part in message.images if part.blob in request.images and (message.id, part.blob) not in kept]
        if not gone:
            return message
        handles = tuple(part.blob for part in gone)
        known = self._copies.get(message.id)
        if known is not None and known[0] is message and known[1] == handles:
            return known[2]
        why = [f"[the picture {part.name} is not shown: {self._reason(part, refused)}]" for part in gone]
        images = tuple(part for part in message.images if part.blob not in handles)
        copy = structs.replace(message, images=images, content="\n\n".join(filter(None, [message.content, *why])))
        self._copies[message.id] = (message, handles, copy)
        return copy

    def _reason(self, part: ImagePart, refused: set[str]) -> str:
        if self._lessons.get(_TAKES, True) is False:
            return "this model takes no pictures"
        return "the server refused it" if part.blob in refused else "one request cannot hold all pictures"


def _pictures_in(request: ChatRequest) -> Iterator[_Sent]:
    for message in request.messages:
        if isinstance(message, UserMessage | ToolMessage):
            for part in message.images:
                if (data := request.images.get(part.blob)) is not None:
                    yield _Sent(message=message.id, part=part, data=data)


def _encoded_bytes(data: bytes) -> int:
    """As base64."""
    return 4 * ((len(data) + 2) // 3)


def _named(pictures: Sequence[_Sent]) -> str:
    names = list(dict.fromkeys(one.part.name for one in pictures))
    if len(names) == 1:
        return f"the picture {names[0]}"
    return f"{len(names)} pictures ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
