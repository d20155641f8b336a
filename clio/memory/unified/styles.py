"""What styles have learned, as answers: one for each style that was rated, with what it earned for which request."""

from clio.memory.styles.styles import Styles, StyleView
from clio.memory.unified.hits import StyleHit


class StyleAnswers:
    """Answers from the styles of one person."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles

    def learned(self, query: str) -> list[StyleHit]:
        """One answer for each style somebody rated; which of them fit the query is for the ranker to say."""
        return [_hit(view) for view in self._styles.views() if view.earned]


def _hit(view: StyleView) -> StyleHit:
    skill = view.skill
    places = sorted(view.earned.items(), key=lambda pair: -pair[1].ratings)
    earned = "; ".join(f"{intent}: {one.ups:.3g} up, {one.downs:.3g} down" for intent, one in places)
    return StyleHit(
        id=skill.id,
        text=f"style {skill.name}: {skill.summary or skill.text} ({earned})",
        when=max(one.last for one in view.earned.values()),
        strength=max(one.confidence for one in view.earned.values()),
    )
