import pytest


@pytest.fixture(scope="module")
def dask_cluster():
    """The client of two worker processes."""
    distributed = pytest.importorskip("distributed", reason="needs pip install 'eigenbench[dask]'")
    options = {"processes": True, "host": "127.0.0.1", "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
