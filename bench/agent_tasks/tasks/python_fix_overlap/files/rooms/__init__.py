"""Free time in meeting rooms."""

from rooms.schedule import free_slots

__all__ = ["free_slots"]
