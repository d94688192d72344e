"""The server view, painted and handled."""
