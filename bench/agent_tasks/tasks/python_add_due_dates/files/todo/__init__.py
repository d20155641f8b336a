"""A to-do list in a JSON file."""
