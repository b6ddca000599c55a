"""Fitted pipelines as MLflow models, described without being loaded.

MLflow stores the skops file as it is and, to predict, imports this module and calls `_load_pyfunc`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbench.experiments.record import Record

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.models import ModelSignature

# What a saved pipeline needs to be loaded, in the versions that wrote it.
_REQUIREMENTS = ("eigenbench", "numpy", "scipy", "scikit-learn", "skops")


class LabelPredictor:
    """The ``predict`` that MLflow calls.

    Parameters
    ----------
    pipeline : estimator
        A fitted pipeline from raw inputs to labels.
    """

    def __init__(self, pipeline: Any):
        self.pipeline = pipeline

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the label of each row of (n, d) inputs; there are no parameters."""
        return self.pipeline.predict(model_input)


def _load_pyfunc(path: str) -> LabelPredictor:
    from eigenbench.experiments.persistence import load_model

    return LabelPredictor(load_model(Path(path)))


def signature(n_features: int, dtype: str) -> ModelSignature:
    """Return the signature of a pipeline: (n, n_features) inputs of a dtype to (n,) class numbers."""
    import numpy as np
    from mlflow.models import ModelSignature
    from mlflow.types import Schema, TensorSpec

    return ModelSignature(
        inputs=Schema([TensorSpec(np.dtype(dtype), (-1, n_features))]),
        outputs=Schema([TensorSpec(np.dtype(np.int64), (-1,))]),
    )


def log_model(
    client: MlflowClient, run_id: str, experiment_id: str, record: Record, file: Path, staging: Path
):
    """Store a run's pipeline as its MLflow model, ``runs:/<run_id>/model``.

    Parameters
    ----------
    client : MlflowClient
        The store.
    run_id, experiment_id : str
        The run that made the model.
    record : Record
        The run's record; its ``model`` must be set.
    file : Path
        The skops file.
    staging : Path
        A folder that does not exist yet, for the files on their way to the store.
    """
    from mlflow import pyfunc
    from mlflow.entities import LoggedModelOutput
    from mlflow.models import Model

    assert record.model is not None
    packages = record.environment.packages if record.environment else {}
    logged = client.create_logged_model(
        experiment_id,
        name="model",
        source_run_id=run_id,
        tags={"run_key": record.run_key, "sha256": record.model.sha256},
        params={name: str(getattr(record, name)) for name in ("dataset", "method", "classifier", "seed")},
        model_type="classifier",
    )
    labels = record.confusion.labels if record.confusion else None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*input example")
        pyfunc.save_model(
            staging,
            loader_module=__name__,
            data_path=str(file),
            signature=signature(record.model.n_features, record.model.input_dtype),
            pip_requirements=[f"{name}=={packages[name]}" for name in _REQUIREMENTS if name in packages]
            or ["eigenbench"],
            mlflow_model=Model(
                run_id=run_id,
                model_id=logged.model_id,
                metadata={"labels": labels, "skops_sha256": record.model.sha256},
            ),
        )
    client.log_model_artifacts(logged.model_id, str(staging))
    client.finalize_logged_model(logged.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
