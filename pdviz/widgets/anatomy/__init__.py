"""The anatomy view."""
