"""The time axis, painted and handled."""
