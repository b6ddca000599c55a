"""Fitted pipelines as MLflow models, described without being loaded.

MLflow stores the skops file as it is and, to predict, imports this module and calls `_load_pyfunc`.
"""

from __future__ import annotations

import platform
import shutil
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from eigenbench.bench.records.record import Record
from eigenbench.tracking.artifacts import artifact_folder

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.models import Model, ModelSignature

_YAML_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

#: Why a model is stored: it is the best of its method and classifier, or all were asked for.
BEST, ASKED = "best", "asked"

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
    from eigenbench.methods.model_file import load_model

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
    client: MlflowClient, run_id: str, experiment_id: str, record: Record, file: Path, chosen: str
) -> str:
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
    chosen : str
        Why it is stored: `BEST` or `ASKED`.

    Returns
    -------
    str
        The name that MLflow gave the model; ``models:/<name>`` loads it.
    """
    from mlflow.entities import LoggedModelOutput
    from mlflow.models import Model

    assert record.model is not None
    logged = client.create_logged_model(
        experiment_id,
        name="model",
        source_run_id=run_id,
        tags={"run_key": record.run_key, "sha256": record.model.sha256, "chosen": chosen},
        params={name: str(getattr(record, name)) for name in ("dataset", "method", "classifier", "seed")},
        model_type="classifier",
    )
    labels = record.confusion.labels if record.confusion else None
    described = Model(
        run_id=run_id,
        model_id=logged.model_id,
        signature=signature(record.model.n_features, record.model.input_dtype),
        metadata={"labels": labels, "skops_sha256": record.model.sha256},
        model_size_bytes=record.model.bytes,
    )
    with artifact_folder(logged.artifact_location, client.tracking_uri) as folder:
        _write_model(folder, described, file, _requirements(record))
    client.finalize_logged_model(logged.model_id, "READY")
    client.log_outputs(run_id, [LoggedModelOutput(logged.model_id, step=0)])
    return str(logged.model_id)


def _write_model(folder: Path, described: Model, file: Path, requirements: tuple[str, ...]) -> None:
    from mlflow import pyfunc

    shutil.copyfile(file, folder / file.name)
    for name, content in _environment_files(requirements).items():
        (folder / name).write_bytes(content)
    pyfunc.add_to_model(
        described, __name__, data=file.name, conda_env="conda.yaml", python_env="python_env.yaml"
    )
    # As `Model.save` writes it, with the parser written in C.
    text = yaml.dump(described.to_dict(), Dumper=_YAML_DUMPER, default_flow_style=False, allow_unicode=True)
    (folder / "MLmodel").write_text(text, encoding="utf-8")


def _requirements(record: Record) -> tuple[str, ...]:
    packages = record.environment.packages if record.environment else {}
    found = tuple(f"{name}=={packages[name]}" for name in _REQUIREMENTS if name in packages)
    return found or ("eigenbench",)


@lru_cache(maxsize=64)
def _environment_files(requirements: tuple[str, ...]) -> dict[str, bytes]:
    """Return the files in which MLflow keeps a model's packages.

    `pyfunc.save_model` writes the same, after seconds of looking through all packages that are installed.
    """
    import mlflow
    from mlflow import pyfunc

    packages = [f"mlflow=={mlflow.__version__}", *requirements]
    conda = pyfunc.get_default_conda_env()
    conda["dependencies"] = [one for one in conda["dependencies"] if isinstance(one, str)] + [
        {"pip": packages}
    ]
    python = {
        "python": platform.python_version(),
        "build_dependencies": ["pip", "setuptools", "wheel"],
        "dependencies": ["-r requirements.txt"],
    }
    texts = {
        "conda.yaml": yaml.safe_dump(conda, sort_keys=False),
        "python_env.yaml": yaml.safe_dump(python, sort_keys=False),
        "requirements.txt": "\n".join(packages),
    }
    return {name: text.encode() for name, text in texts.items()}
