"""The time axis: passes as blocks, utilisation as areas."""
