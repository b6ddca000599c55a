"""Protocols: experiments that measure something else than the error of a trained classifier.

A protocol takes one embedding with one seed and measures how far its kernel is from the exact one, how well
it transfers to new classes, how fast it is. Each is a module with its settings and ``measure``.
"""
