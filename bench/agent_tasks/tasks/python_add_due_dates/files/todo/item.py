"""One item of the list."""

from dataclasses import dataclass


@dataclass
class Item:
    number: int
    text: str
    done: bool = False

    def to_json(self):
        return {"number": self.number, "text": self.text, "done": self.done}

    @classmethod
    def from_json(cls, data):
        return cls(data["number"], data["text"], data["done"])
