"""Which folders of the machine a container is given, and what a path inside it is on the machine. Pure."""

from collections.abc import Iterator, Sequence


def option_values(argv: tuple[str, ...], options: tuple[str, ...]) -> list[str]:
    """What is given to these options, as the next word, behind `=` or attached."""
    found: list[str] = []
    for place, text in enumerate(argv):
        for option in options:
            if text == option and place + 1 < len(argv):
                found.append(argv[place + 1])
            elif text.startswith(f"{option}="):
                found.append(text.partition("=")[2])
            elif len(option) == 2 and option[0] == "-" and text.startswith(option):
                found.append(text[2:])
            elif option == "-f" and place == 0 and text.endswith("f") and place + 1 < len(argv):
                found.append(argv[place + 1])  # `tar cf file`
    return found


def list_mounts(argv: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The folders of the machine that a container is given: where each is in the container, and on the machine."""
    for text in option_values(argv, ("-v", "--volume")):
        machine, _, rest = text.partition(":")
        if machine.startswith(("/", "~", "$HOME", "..")) and rest:
            yield rest.partition(":")[0], machine
    for text in option_values(argv, ("--mount",)):
        parts = [part.partition("=") for part in text.split(",")]
        pairs = {name: value for name, _, value in parts}
        machine = pairs.get("source", pairs.get("src", ""))
        inside = pairs.get("target", pairs.get("dst", pairs.get("destination", "")))
        if machine.startswith(("/", "~", "$HOME", "..")) and inside:
            yield inside, machine


def map_to_machine(text: str, mounts: Sequence[tuple[str, str]], elsewhere: str = "/container") -> str:
    """A path of a container as the path on the machine; one that is in no mount as a path that harms nothing."""
    for inside, machine in mounts:
        if text == inside.rstrip("/") or text.startswith(f"{inside.rstrip('/')}/"):
            return f"{machine.rstrip('/')}/{text[len(inside.rstrip('/')) :].lstrip('/')}"
    return f"{elsewhere}{text}" if text.startswith("/") else text
