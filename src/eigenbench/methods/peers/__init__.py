"""Methods and controls to compare with; those of other packages need an extra."""
