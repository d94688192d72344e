"""The roofline view."""
