"""What is left of a day."""

from rooms.intervals import clip, merge

OPENS, CLOSES = 8 * 60, 18 * 60


def free_slots(bookings, opens=OPENS, closes=CLOSES):
    """The free intervals of a room between opening and closing, in order."""
    inside = [part for booking in bookings if (part := clip(booking, opens, closes))]
    slots, at = [], opens
    for start, end in merge(inside):
        if start > opens:
            slots.append((at, start))
        at = end
    if at < closes:
        slots.append((at, closes))
    return slots
