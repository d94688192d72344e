"""What every view is built from."""
