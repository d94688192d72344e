"""The shapes view."""
