"""The window and what holds it together."""
