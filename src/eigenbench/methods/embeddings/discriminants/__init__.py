"""Directions that set classes against each other: GEM and variants, LDA, SIR, oriented and per-class PCA."""
