"""A model's weights, layer by layer."""
