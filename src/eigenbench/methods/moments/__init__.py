"""Counts, sums and second moments of classes: the one statistic that the spectral embeddings need."""

from eigenbench.methods.moments.class_moments import ClassMoments, PooledMoments
from eigenbench.methods.moments.second_moments import ClassRows
from eigenbench.methods.moments.streamed_moments import StreamedMoments

#: What embeddings can be fitted to. Those that need second moments of classes go through ``parts``, which
#: pooled moments refuse.
AnyMoments = ClassMoments | ClassRows | PooledMoments | StreamedMoments

__all__ = ["AnyMoments", "ClassMoments", "ClassRows", "PooledMoments", "StreamedMoments"]
