"""From recordings with phone labels to frames with phone states."""
