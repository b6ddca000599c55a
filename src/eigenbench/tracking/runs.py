"""A record in MLflow's terms: the parameters, metrics, tags and dataset of its run."""

from __future__ import annotations

import json
import re
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbench.bench.records.record import DatasetInfo, Record
from eigenbench.tracking.known import RUN
from eigenbench.tracking.names import curve_name

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Metric, Param

# The most that MLflow takes in one call, in one value and in a dataset's digest.
_METRICS_PER_CALL = 1000
_PARAMS_PER_CALL = 100
_PARAM_LENGTH = 6000
_TAG_LENGTH = 5000
_DIGEST_LENGTH = 36

_COSTS = ("dimension", "fit_seconds", "train_seconds", "predict_seconds", "peak_rss_mb")


def start_and_end(record: Record, path: Path) -> tuple[int, int]:
    """Return when the run started and finished, in milliseconds since 1970.

    A record without times, such as that of a run whose dataset is absent, has those of its file.
    """
    written = path.stat().st_mtime
    start = _timestamp(record.started, written)
    return start, max(start, _timestamp(record.finished, written))


def _timestamp(text: str | None, otherwise: float) -> int:
    return int(1000 * (datetime.fromisoformat(text).timestamp() if text else otherwise))


def tags(record: Record, path: Path, record_sha256: str) -> dict[str, str]:
    """Return the tags of a run: what it is, what became of it, and the exact record it shows."""
    found: dict[str, Any] = {
        "kind": RUN,
        "run_key": record.run_key,
        "record_sha256": record_sha256,
        "suite": record.suite,
        "experiment": record.experiment,
        "dataset": record.dataset,
        "method": record.method,
        "classifier": record.classifier,
        "seed": record.seed,
        "deterministic": record.deterministic,
        "status": record.status,
        "mlflow.source.name": "eigenbench",
        "mlflow.source.type": "PROJECT",
        "mlflow.note.content": _note(record, path),
    }
    if failure := record.failure:
        found |= {
            "failure_stage": failure.stage,
            "failure_type": failure.type,
            "failure_log": failure.log,
        }
    if environment := record.environment:
        found |= {
            "mlflow.source.git.commit": environment.git_commit,
            "git_dirty": environment.git_dirty,
            "code_hash": environment.code_hash,
            "python": environment.python,
            "platform": environment.platform,
            "cpu": environment.cpu,
            "threads": environment.threads,
        }
        found |= {f"version.{name}": version for name, version in environment.packages.items()}
    return tag_values(found)


def _note(record: Record, path: Path) -> str:
    """Describe one run: what became of it, and the command that makes it again."""
    parts = []
    if record.failure is not None:
        failure = record.failure
        why = f"{failure.stage}: {failure.type}: {failure.message}"
        parts.append(f"**{record.status}** {why}")
    parts.append(f"Run it again: `snakemake --force {shlex.quote(str(path))}`")
    parts.append("Its record is `record.json` among the artifacts.")
    return "\n\n".join(parts)


def tag_values(found: dict[str, Any]) -> dict[str, str]:
    """Return tags as MLflow takes them: texts of limited length, none for what is None."""
    return {key: str(value)[:_TAG_LENGTH] for key, value in found.items() if value is not None}


def log_measurements(client: MlflowClient, run_id: str, record: Record, timestamp: int) -> None:
    """Log parameters, metrics and curves in as few calls as MLflow's limits allow."""
    metrics, params = _metrics(record, timestamp), _params(record)
    calls = max(-(-len(metrics) // _METRICS_PER_CALL), -(-len(params) // _PARAMS_PER_CALL))
    for call in range(calls):
        client.log_batch(
            run_id,
            metrics=metrics[call * _METRICS_PER_CALL : (call + 1) * _METRICS_PER_CALL],
            params=params[call * _PARAMS_PER_CALL : (call + 1) * _PARAMS_PER_CALL],
        )


def _metrics(record: Record, timestamp: int) -> list[Metric]:
    from mlflow.entities import Metric

    costs = {name: getattr(record, name) for name in _COSTS}
    final = record.metrics | {name: float(value) for name, value in costs.items() if value is not None}
    metrics = [Metric(_allowed(name), value, timestamp, 0) for name, value in final.items()]
    for name, points in record.curves.items():
        curve, scale = curve_name(name)
        metrics += [Metric(_allowed(curve), scale * value, timestamp, step) for step, value in points]
    return metrics


def _params(record: Record) -> list[Param]:
    from mlflow.entities import Param

    cell = {name: getattr(record, name) for name in ("dataset", "method", "classifier", "seed")}
    return [
        Param(_allowed(name), _param_text(value)) for name, value in (cell | _flat(record.params)).items()
    ]


def _flat(params: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _param_text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _PARAM_LENGTH else text[: _PARAM_LENGTH - 1] + "…"


def _allowed(name: str) -> str:
    """MLflow refuses names with other characters, such as the @ of precision@1."""
    return re.sub(r"[^\w.\-/ ]", "_", name)[:250]


def log_dataset(client: MlflowClient, run_id: str, record: Record) -> None:
    """Log the dataset that a run was trained on."""
    from mlflow.exceptions import MlflowException

    assert record.dataset_info is not None
    used = [dataset_input(record.dataset_info, record.model.input_dtype if record.model else None)]
    try:
        client.log_inputs(run_id, used)
    except MlflowException:  # another import has just added the same dataset: now it is found
        client.log_inputs(run_id, used)


def dataset_input(info: DatasetInfo, input_dtype: str | None) -> DatasetInput:
    """Return the dataset that a run was trained on, as MLflow shows it.

    Its digest is the beginning of the SHA-256 of the prepared data; the whole sum is in the source.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    source = {
        "source": info.source,
        "sha256": info.sha256,
        "licence": info.licence,
        "split": info.split,
    }
    profile = {
        "num_rows": info.n_train,
        "num_elements": info.n_train * info.n_features,
        "columns": info.n_features,
        "classes": info.n_classes,
        "test_rows": info.n_test,
    }
    dataset = Dataset(
        name=info.name,
        digest=info.sha256[:_DIGEST_LENGTH],
        source_type="eigenbench",
        source=json.dumps(source),
        schema=None if input_dtype is None else _schema(info.n_features, input_dtype),
        profile=json.dumps(profile),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "training")])


def _schema(n_features: int, dtype: str) -> str:
    from eigenbench.tracking.logged_models import signature

    described = signature(n_features, dtype)
    return json.dumps(
        {
            "mlflow_tensorspec": {
                "features": described.inputs.to_json(),
                "targets": described.outputs.to_json(),
            }
        }
    )
