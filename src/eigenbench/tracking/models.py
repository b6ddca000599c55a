"""Fitted pipelines as MLflow models, described without being loaded.

MLflow stores the skops file as it is and, to predict, imports this module and calls `_load_pyfunc`.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbench.bench.records.record import Record

if TYPE_CHECKING:
    from eigenbench.tracking.suite_store import SuiteStore

# What a saved pipeline needs to be loaded, in the versions that wrote it.
_REQUIREMENTS = ("eigenbench", "numpy", "scipy", "scikit-learn", "skops")


def _load_pyfunc(path: str) -> Any:
    """Return the fitted pipeline, whose ``predict`` MLflow calls on raw inputs."""
    from eigenbench.methods.model_file import load_model

    return load_model(Path(path))


def log_model(store: SuiteStore, run_id: str, record: Record, file: Path) -> str:
    """Store a run's skops file as its MLflow model, whole last, of inputs (n, d) and class numbers (n,)."""
    import numpy as np
    from mlflow import pyfunc
    from mlflow.entities import LoggedModelOutput
    from mlflow.models import Model, ModelSignature
    from mlflow.types import Schema, TensorSpec

    assert record.model is not None
    client = store.client
    logged = client.create_logged_model(
        store.experiment_id,
        name="model",
        source_run_id=run_id,
        tags={"run_key": record.run_key, "sha256": record.model.sha256, "imported_from": store.source},
        params={name: str(getattr(record, name)) for name in ("dataset", "method", "classifier", "seed")},
        model_type="classifier",
    )
    packages = record.environment.packages if record.environment else {}
    requirements = [f"{name}=={packages[name]}" for name in _REQUIREMENTS if name in packages]
    labels = record.confusion.labels if record.confusion else None
    inputs = TensorSpec(np.dtype(record.model.input_dtype), (-1, record.model.n_features))
    with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*input example")
        pyfunc.save_model(
            Path(folder) / "model",
            loader_module=__name__,
            data_path=str(file),
            mlflow_model=Model(run_id=run_id, model_id=logged.model_id),
            signature=ModelSignature(Schema([inputs]), Schema([TensorSpec(np.dtype(np.int64), (-1,))])),
            pip_requirements=requirements or ["eigenbench"],
            metadata={"labels": labels, "skops_sha256": record.model.sha256},
        )
        client.log_model_artifacts(logged.model_id, str(Path(folder) / "model"))
    client.finalize_logged_model(logged.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
    return str(logged.model_id)
