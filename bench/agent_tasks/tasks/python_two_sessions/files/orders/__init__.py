"""Orders of a shop."""
