"""Protocols: experiments that measure something other than the error of a trained classifier.

A protocol takes one embedding with one seed. It measures the error of its kernel, its transfer to new
classes, or its speed. Each is a module with its settings and ``measure``.
"""
