"""Looks up what a message names with @ before its turn: files, folders, pictures, earlier sessions, notes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from clio.agent.events import Emit, Notice
from clio.context.message_parts import MAX_MENTIONS, find_mentions, mention_fragment
from clio.errors import ClioError
from clio.fragments import Fragment
from clio.messages import ImagePart
from clio.tokens import TokenEstimator

if TYPE_CHECKING:
    from clio.agent.mention_lookup import MentionLookup


MOST_TOKENS = 12_000
"""Of one mention, on any window; all of a message together take at most a quarter of the window."""
_LEAST_TOKENS = 100


class Mentioned(Struct, kw_only=True, frozen=True):
    """What messages name, for one loop. look_up: makes what looks it up, which is given the most tokens of a mention.

    window_tokens: of the model.
    """

    look_up: "Callable[[int], MentionLookup]"
    emit: Emit
    estimator: TokenEstimator
    window_tokens: int
    images: list[ImagePart] = field(default_factory=list[ImagePart])

    async def fragments(self, text: str, of: int = 1) -> list[Fragment]:
        """What stands before the words of a message because they name it; tells what was put in, and what was not.

        of: among how many messages the quarter of the window is divided. Pictures are not text: `take_images` gives
        those of these words.
        """
        self.images.clear()
        if not (mentions := find_mentions(text)[:MAX_MENTIONS]):
            return []
        from clio.agent.mention_lookup import Refused

        most = min(MOST_TOKENS, self.window_tokens // 8)
        look_up = self.look_up(most)
        left, found = self.window_tokens // 4 // of, list[Fragment]()
        for mention in mentions:
            try:
                got = await look_up.find(mention)
                if got is None:
                    continue
                if got.image is not None:
                    self.images.append(got.image)
                else:
                    if left < _LEAST_TOKENS:
                        raise Refused("what is named before it takes all of the room there is for mentions")
                    found.append(mention_fragment(got.mention, got.rows, min(most, left), self.estimator, way=got.way))
                    left -= self.estimator.text(found[-1].text)
                self.emit(Notice(text=f"+ {got.mention.label} · {got.what}"))
            except (Refused, ClioError, OSError) as error:
                self.emit(Notice(text=f"@{mention.label} is not put in: {error}", level="warning"))
        return found

    def take_images(self) -> tuple[ImagePart, ...]:
        """The pictures named in the words `fragments` looked at last; they are then forgotten here."""
        taken = tuple(self.images)
        self.images.clear()
        return taken
