"""One item of the list."""

from dataclasses import dataclass
from datetime import date


@dataclass
class Item:
    number: int
    text: str
    done: bool = False
    due: date | None = None

    def is_overdue(self, today):
        return not self.done and self.due is not None and self.due < today

    def to_json(self):
        due = self.due.isoformat() if self.due else None
        return {"number": self.number, "text": self.text, "done": self.done, "due": due}

    @classmethod
    def from_json(cls, data):
        due = date.fromisoformat(data["due"]) if data.get("due") else None
        return cls(data["number"], data["text"], data["done"], due)
