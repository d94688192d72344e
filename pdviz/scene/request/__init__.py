"""What stands around the stage of one request."""
