"""Chooses which images of a request are sent: as many as the server accepts, without those it rejected.

An image that is left out is replaced by a sentence in its message.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from clio.images import find_image_size
from clio.messages import ImagePart, Message, ToolMessage, UserMessage
from clio.providers.base import ChatRequest, Lessons
from clio.providers.failure import Failure, extract_complaint
from clio.text.json_data import as_list, as_text, as_token_count
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

# Names of lessons; they are stored.
_SUPPORT_LESSON, _COUNT_LESSON, _REFUSED_LESSON = "takes_pictures", "most_pictures", "refused_pictures"
_MAX_REFUSED = 40
_FILL_AFTER_DROPPING = 0.75
"""Part of a limit that is used after images were dropped, so that the next images do not change the request again:
unchanged images are read from the server's prompt cache."""
_MIN_BYTES_TO_DROP = 500_000
"""With fewer bytes, the images are not the reason why a request is too large."""


class PictureLimits(Struct, frozen=True, kw_only=True):
    """The limits of one request.

    Attributes:
        total_bytes: of the images before base64, which adds a third.
        crowd, crowd_side: with more than `crowd` images, none may have a side of more than `crowd_side` pixels.
    """

    total_bytes: int = 20_000_000
    count: int = 50
    crowd: int = 0
    crowd_side: int = 0


# Limits by the end of the host name; byte limits allow for base64, a third more. Looked up in November 2026:
# - Anthropic: platform.claude.com/docs/en/build-with-claude/vision: 32 MB a request; 100 images for models with a
#   window of 200,000 tokens (600 for others); 2,000 pixels a side where there are more than 20 images.
# - Gemini: 20 MB a request, stated by Google's staff at discuss.ai.google.dev.
# - Vertex: not verified; the limit of Gemini is used, and a rejection is learned.
# - Groq: console.groq.com/docs/vision: 4 MB a request with base64. The count of 5 is not verified; a rejection
#   is learned.
# - Mistral: the count of 8 is not verified; a rejection is learned.
# - OpenAI: 50 MB and 500 images a request, in a copy of its guide on images; not verified on its own page.
# The limits of all other servers (the defaults of `PictureLimits`) are guesses; a rejection is learned.
_LIMITS: tuple[tuple[str, PictureLimits], ...] = (
    ("anthropic.com", PictureLimits(total_bytes=22_000_000, count=100, crowd=20, crowd_side=2_000)),
    ("generativelanguage.googleapis.com", PictureLimits(total_bytes=14_000_000)),
    ("aiplatform.googleapis.com", PictureLimits(total_bytes=14_000_000)),
    ("api.groq.com", PictureLimits(total_bytes=3_000_000, count=5)),
    ("api.mistral.ai", PictureLimits(count=8)),
    ("api.openai.com", PictureLimits(total_bytes=36_000_000, count=500)),
)

_IMAGE = r"(?:images?|pictures?|vision|visual|multi-?modal|image_url|input_image)"
_NOT_SUPPORTED = LazyRegex(
    # "does not support images", "doesn't accept image input"; not "does not support image format X" or a size
    rf"(?:not|n't) (?:currently )?(?:support|accept|take)\w*\s+(?:any |the )?{_IMAGE}"
    r"(?:[\s-]+(?:inputs?|content|understanding|modalit\w+|capabilit\w+|data|messages?|parts?|requests?))?"
    r"\s*(?:$|[.,;:!)'\"`\n]|\b(?:and|but|in|for|as|yet|at|on)\b)"
    rf"|\b{_IMAGE}[\s-]+(?:(?:inputs?|content|modality|data|parts?)\s+){{0,2}}(?:is|are) "
    r"(?:not (?:supported|enabled|allowed|available|accepted)|only supported (?:by|for|with))"
    rf"|not a {_IMAGE}[\s-]|support image input|text[- ]only model|mmproj|no (?:image|vision) support"
    r"|unknown variant\W+(?:image_url|image|input_image)\b|invalid content type\W.{0,20}image_url"
    r"|content\W.{0,20}(?:must|should) be a (?:valid )?string"
    r"|(?:image_url|input_image)\W.{0,40}supported values are:\W+(?:text|input_text)\W",
    re.IGNORECASE,
)
_COUNT = LazyRegex(
    rf"(?:at most|up to|maximum of|max of|limit of|more than|only)\s+\d+\s+{_IMAGE}"
    rf"|too many {_IMAGE}|(?:number|count) of {_IMAGE}"
    rf"|(?:maximum|max|limit)\D{{0,20}}{_IMAGE} (?:per|in one|in a) (?:request|prompt|message)",
    re.IGNORECASE,
)
_OVER = LazyRegex(r">\s*(\d+)")
_CROWD = LazyRegex(r"many-image requests?", re.IGNORECASE)
_ABOUT_IMAGES = LazyRegex(rf"(?<![-a-z0-9]){_IMAGE}(?![-a-z0-9])|\bimage/|media_type|\bbase64\b", re.IGNORECASE)
"""Does not match names of models such as "image-maker"."""
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


class _SentImage(Struct, frozen=True, kw_only=True):
    """One image of a request."""

    message: str
    part: ImagePart
    data: bytes

    @property
    def position(self) -> tuple[str, str]:
        return self.message, self.part.blob

    @property
    def side(self) -> int:
        """The longer side in pixels; 0 if unknown."""
        return max(find_image_size(self.data) or (0,))


class SentPictures:
    """The images that are sent to one model.

    Args:
        host: the server's host name.
        lessons: stores what was learned from rejections; see `Lessons`.
    """

    def __init__(self, model: str, server: str, host: str, lessons: Lessons) -> None:
        self._model = model
        self._server = server
        self._limits = next((limits for end, limits in _LIMITS if host.endswith(end)), PictureLimits())
        self._lessons = lessons
        self._left_out: set[tuple[str, str]] = set()  # left out because of a limit, by message and handle
        self._accepted: set[str] = set()  # handles of images in requests that were answered
        self._sent: list[_SentImage] = []  # in the last request, oldest first
        self._copies: dict[str, tuple[Message, tuple[str, ...], Message]] = {}

    def fit_request(self, request: ChatRequest) -> ChatRequest:
        """Return the request with the images that the server accepts; the others are named in their messages."""
        refused = set(map(as_text, as_list(self._lessons.get(_REFUSED_LESSON))))
        present = list(_list_images(request))
        if self._lessons.get(_SUPPORT_LESSON, True) is False:
            chosen: list[_SentImage] = []
        else:
            chosen = [
                image for image in present if image.part.blob not in refused and image.position not in self._left_out
            ]
            chosen = self._apply_limits(chosen)
        self._sent = chosen
        if len(chosen) == len(present):
            return request
        positions = {image.position for image in chosen}
        messages = tuple(self._remove_images(message, request, positions, refused) for message in request.messages)
        self._copies = {message.id: copy for message in messages if (copy := self._copies.get(message.id))}
        return structs.replace(request, messages=messages)

    def mark_accepted(self) -> None:
        """Record that the last request was answered, so that its images are known to be readable."""
        self._accepted.update(image.part.blob for image in self._sent)

    def adapt(self, failure: Failure) -> str | None:
        """Leave images out of later requests after a rejection of the last one. Returns the sentence for the user.

        None if the rejection is not about images. Each call leaves at least one out, so this ends.
        """
        if not self._sent:
            return None
        complaint = extract_complaint(failure.body)
        if failure.status == 413:
            return self._reduce_size(complaint)
        if (notice := self._adapt_count(complaint)) is not None:
            return notice
        if _NOT_SUPPORTED.search(complaint):
            return self._stop_images()
        if not (_ABOUT_IMAGES.search(complaint) and _REFUSAL.search(complaint)):
            return None
        blamed = self._find_blamed(complaint)
        handles = dict.fromkeys(image.part.blob for image in blamed)
        known = [as_text(handle) for handle in as_list(self._lessons.get(_REFUSED_LESSON))]
        self._lessons[_REFUSED_LESSON] = [*known, *handles][-_MAX_REFUSED:]
        return tr(
            "{server} rejected {images}: continuing without; a smaller copy as png or jpeg may be accepted",
            server=self._server,
            images=_name_images(blamed),
        )

    def _apply_limits(self, images: list[_SentImage]) -> list[_SentImage]:
        limits = self._limits
        count = min(limits.count, as_token_count(self._lessons.get(_COUNT_LESSON)) or limits.count)
        if limits.crowd and len(images) > limits.crowd and any(image.side > limits.crowd_side for image in images):
            count = min(count, limits.crowd)
        if len(images) <= count and sum(len(image.data) for image in images) <= limits.total_bytes:
            return images
        return self._drop_oldest(images, limits.total_bytes, count)

    def _drop_oldest(self, images: list[_SentImage], total_bytes: int, count: int) -> list[_SentImage]:
        """Return the newest images, up to `_FILL_AFTER_DROPPING` of the limits."""
        max_bytes, max_count = total_bytes * _FILL_AFTER_DROPPING, max(int(count * _FILL_AFTER_DROPPING), 1)
        remaining: list[_SentImage] = []
        used = 0
        for image in reversed(images):
            used += len(image.data)
            is_newest = not remaining and used <= total_bytes
            if not is_newest and (used > max_bytes or len(remaining) >= max_count):
                break
            remaining.append(image)
        remaining.reverse()
        self._left_out.update(image.position for image in images[: len(images) - len(remaining)])
        return remaining

    def _reduce_size(self, complaint: str) -> str | None:
        """Drop images after a request with too many bytes; None if they are not the reason."""
        total = sum(len(image.data) for image in self._sent)
        if total < _MIN_BYTES_TO_DROP or _BUDGET.search(complaint):
            return None
        before = len(self._sent)
        remaining = self._drop_oldest(self._sent, max(total // 2, 1), before) if before > 1 else []
        dropped = self._sent[: before - len(remaining)]
        self._left_out.update(image.position for image in dropped)
        return tr(
            "the request is too large for {server}: {images} left out",
            server=self._server,
            images=_name_images(dropped),
        )

    def _adapt_count(self, complaint: str) -> str | None:
        found = _COUNT.search(complaint)
        most = len(self._sent) - 1
        if _CROWD.search(complaint):
            most = min(20, most)
        elif found is None:
            return None
        else:
            sentence = complaint[found.start() : found.end() + 80]
            numbers = [int(number) for number in _OVER.findall(sentence) or re.findall(r"\d+", sentence)]
            if 0 in numbers:
                return self._stop_images()
            most = min([*numbers, most])
        if most < 1:
            return None
        self._lessons[_COUNT_LESSON] = most
        return tr("{server} accepts {most} images per request: older ones are left out", server=self._server, most=most)

    def _stop_images(self) -> str:
        self._lessons[_SUPPORT_LESSON] = False
        return tr(
            "{model} does not support images: sending their names; /model switches to another model", model=self._model
        )

    def _find_blamed(self, complaint: str) -> list[_SentImage]:
        """Return the images that a rejection describes, else the newest that were never accepted, else all."""
        numbers = {int(number.replace(",", "")) for number in _NUMBER.findall(complaint)}
        sides = [int(number.replace(",", "")) for number in _PIXELS.findall(complaint)]
        sizes = [float(number) * 1_000_000 for number in _MEGABYTES.findall(complaint)]
        described = [
            image
            for image in self._sent
            if numbers & {len(image.data), _count_encoded_bytes(image.data)}
            or (sides and image.side > min(sides))
            or (sizes and _count_encoded_bytes(image.data) > min(sizes))
        ]
        if described:
            return described
        fresh = [image for image in self._sent if image.part.blob not in self._accepted]
        return [image for image in fresh if image.message == fresh[-1].message] or list(self._sent)

    def _remove_images(
        self, message: Message, request: ChatRequest, chosen: set[tuple[str, str]], refused: set[str]
    ) -> Message:
        """Return the message with only the chosen images; the same object as long as these stay the same."""
        if not isinstance(message, UserMessage | ToolMessage):
            return message
        removed = [
            part for part in message.images if part.blob in request.images and (message.id, part.blob) not in chosen
        ]
        if not removed:
            return message
        handles = tuple(part.blob for part in removed)
        known = self._copies.get(message.id)
        if known is not None and known[0] is message and known[1] == handles:
            return known[2]
        notes = [f"[the image {part.name} is not shown: {self._explain_removal(part, refused)}]" for part in removed]
        images = tuple(part for part in message.images if part.blob not in handles)
        copy = structs.replace(message, images=images, content="\n\n".join(filter(None, [message.content, *notes])))
        self._copies[message.id] = (message, handles, copy)
        return copy

    def _explain_removal(self, part: ImagePart, refused: set[str]) -> str:
        if self._lessons.get(_SUPPORT_LESSON, True) is False:
            return "this model does not support images"
        return "the server rejected it" if part.blob in refused else "too many images for one request"


def _list_images(request: ChatRequest) -> Iterator[_SentImage]:
    for message in request.messages:
        if isinstance(message, UserMessage | ToolMessage):
            for part in message.images:
                if (data := request.images.get(part.blob)) is not None:
                    yield _SentImage(message=message.id, part=part, data=data)


def _count_encoded_bytes(data: bytes) -> int:
    """Return the size as base64."""
    return 4 * ((len(data) + 2) // 3)


def _name_images(images: Sequence[_SentImage]) -> str:
    names = list(dict.fromkeys(image.part.name for image in images))
    if len(names) == 1:
        return tr("the image {names}", names=names[0])
    return tr(
        "{count} images ({names}{value})",
        count=len(names),
        names=", ".join(names[:3]),
        value=", …" if len(names) > 3 else "",
    )
