"""The request view."""
