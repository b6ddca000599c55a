"""Suite files: what they say, typed, and checked before any work."""
