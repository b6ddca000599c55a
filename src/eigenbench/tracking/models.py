"""Fitted pipelines as MLflow models, described without being loaded.

MLflow stores the skops file as it is and, to predict, imports this module and calls `_load_pyfunc`.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.sealed_json import check_sums
from eigenbench.tracking.run_content import signature

if TYPE_CHECKING:
    from mlflow import MlflowClient

#: Why a model is stored: it is the best of its method and classifier, or all were asked for.
BEST, ASKED = "best", "asked"

# What a saved pipeline needs to be loaded, in the versions that wrote it.
_REQUIREMENTS = ("eigenbench", "numpy", "scipy", "scikit-learn", "skops")


class LabelPredictor:
    """The ``predict`` that MLflow calls, of a fitted pipeline from raw inputs to labels."""

    def __init__(self, pipeline: Any):
        self.pipeline = pipeline

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the label of each row of (n, d) inputs; there are no parameters."""
        return self.pipeline.predict(model_input)


def _load_pyfunc(path: str) -> LabelPredictor:
    from eigenbench.methods.model_file import load_model

    return LabelPredictor(load_model(Path(path)))


def log_model(
    client: MlflowClient,
    run_id: str,
    experiment_id: str,
    record: Record,
    file: Path,
    tags: Mapping[str, str],
) -> str:
    """Store a run's pipeline as its MLflow model, ``runs:/<run_id>/model``; it is marked as whole last.

    The record's ``model`` must be set; ``file`` is the skops file. Returns the name that MLflow gave the
    model: ``models:/<name>`` loads it.
    """
    from mlflow import pyfunc
    from mlflow.entities import LoggedModelOutput
    from mlflow.models import Model

    assert record.model is not None
    logged = client.create_logged_model(
        experiment_id,
        name="model",
        source_run_id=run_id,
        tags={"run_key": record.run_key, "sha256": record.model.sha256, **tags},
        params={name: str(getattr(record, name)) for name in ("dataset", "method", "classifier", "seed")},
        model_type="classifier",
    )
    labels = record.confusion.labels if record.confusion else None
    with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*input example")
        pyfunc.save_model(
            Path(folder) / "model",
            loader_module=__name__,
            data_path=str(file),
            mlflow_model=Model(run_id=run_id, model_id=logged.model_id),
            signature=signature(record.model.n_features, record.model.input_dtype),
            pip_requirements=_requirements(record),
            metadata={"labels": labels, "skops_sha256": record.model.sha256},
        )
        client.log_model_artifacts(logged.model_id, str(Path(folder) / "model"))
    client.finalize_logged_model(logged.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
    return str(logged.model_id)


def _requirements(record: Record) -> list[str]:
    packages = record.environment.packages if record.environment else {}
    return [f"{name}=={packages[name]}" for name in _REQUIREMENTS if name in packages] or ["eigenbench"]


def model_file(path: Path, record: Record) -> Path:
    """Return the file of a record's model, beside the record; its sum is checked.

    Raises
    ------
    DamagedFileError
        If it is missing, cannot be read, or is not the one that the record names; that one is set aside, so
        that the workflow makes it again.
    """
    assert record.model is not None
    name = Path(record.model.path).name
    check_sums(path, {name: {"sha256": record.model.sha256}}, path.read_bytes())
    return path.with_name(name)
