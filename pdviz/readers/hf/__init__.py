"""Hugging Face configurations."""
