"""A user's own data: from a file, or arrays, to a leaderboard and a saved model."""
