"""What a run leaves: its record, its model, and where they are."""
