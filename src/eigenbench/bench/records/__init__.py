"""Files of a run: its record, its model, and their paths."""
