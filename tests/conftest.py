"""Settings that must stand before NumPy is imported, and limits where it was imported earlier."""

import os

# The tests run side by side: threads that wait for each other would make them slow.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from hypothesis import settings  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

# Without pytest-xdist (-n 0) the warning filters of pyproject.toml have imported scikit-learn before this.
threadpool_limits(1)

# A loaded machine is no failure.
settings.register_profile("eigenbench", deadline=None)
settings.load_profile("eigenbench")
