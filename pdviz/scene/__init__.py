"""What is where: axes, trains of passes, meters, playback, colour roles. Values only, no Qt."""
