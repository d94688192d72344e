"""The roofline: roofs, dots, paths."""
