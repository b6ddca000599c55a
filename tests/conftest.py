"""Settings that must stand before NumPy is imported."""

import os

# The tests run side by side: threads that wait for each other would make them slow.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from hypothesis import settings  # noqa: E402

# A loaded machine is no failure.
settings.register_profile("eigenbench", deadline=None)
settings.load_profile("eigenbench")
