"""What is written for other programs: their names for events must not change."""

EVENTS = {"fetch_user": 17, "checkout": 18}
written = []


def note(event, detail):
    written.append((EVENTS[event], detail))
