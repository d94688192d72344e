"""The shapes of the multiplications."""
