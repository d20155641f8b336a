"""Which models take pictures. The user knows better; see `ModelSettings.images`."""

from clio.algorithms.late_pattern import LatePattern
from clio.config.schema import Config

# Matched in lower case after a maker's prefix. What is on neither list is not known to take them.
_TAKES = LatePattern(
    r"gpt-([5-9]|4o|4\.1|4-turbo|4-vision)|chatgpt-4o|o[134](-|$)|claude|gemini|gemma-?[34]|grok-[4-9]"
    r"|pixtral|(mistral|ministral|magistral)-(small|medium|large)|llama-?4|.*(vision|-vl\b|vl-|llava|minicpm-v|omni)"
    r"|glm-\d(\.\d)?v|kimi-k2\.[5-9]"
)
_REFUSES = LatePattern(r"gpt-oss|o1-mini|o1-preview|o3-mini|claude-(2|instant)|gemma-3-(1b|270m)|.*embed|grok-code")


def takes_images(config: Config, model: str) -> bool:
    """Whether pictures may be sent to a model: what the user set, else what is known of its name."""
    own = config.models.get(model)
    if own is not None and own.images is not None:
        return own.images
    name = model.lower().rsplit("/", 1)[-1]
    return bool(_TAKES.match(name)) and not _REFUSES.match(name)
