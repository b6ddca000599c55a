"""From tables as people have them to numbers that embeddings and classifiers take."""
