"""Half-open intervals of minutes, as pairs."""


def clip(interval, low, high):
    """The part of an interval between two times, or None."""
    start, end = max(interval[0], low), min(interval[1], high)
    return (start, end) if start < end else None


def merge(intervals):
    """The same time as few intervals as possible, in order."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
