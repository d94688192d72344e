"""What several views draw with: axes, labels, lettering, theme."""
