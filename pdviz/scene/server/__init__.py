"""A server's run as a picture: passes, streams and what they wait for, over time."""
