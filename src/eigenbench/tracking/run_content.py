"""A record in MLflow's terms: the name, parameters, metrics, tags, dataset and files of its run."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbench.bench.exhibits import Exhibit
from eigenbench.bench.records.record import Confusion, Record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.formatting import metric_style

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Metric, Param

# The most that MLflow takes in one value, in a name and in a dataset's digest.
_PARAM_LENGTH = 6000
_NAME_LENGTH = 250
_DIGEST_LENGTH = 36

_COSTS = ("dimension", "search_seconds", "fit_seconds", "train_seconds", "predict_seconds", "peak_rss_mb")
_SHORT_NAME = 8
_UNITS = {"%": "in percent", "s": "in seconds", "nats": "in nats"}
_LEARNING_CURVES = {
    "loss_curve": "training loss by iteration",
    "validation_curve": "held-out loss by iteration",
}


def run_name(experiment: str, method: str, classifier: str, seed: int | None = None) -> str:
    """Return the name of a run, or, without a seed, of a summary.

    The dashboard cuts names after about 18 characters, so what distinguishes them comes first.

    Examples
    --------
    >>> run_name("mnist", "gem", "CalibratedLeastSquares", 3), run_name("kernels", "gem", "none")
    ('gem CLS s3 · mnist', 'gem · kernels')
    """
    words = [method]
    if classifier != NO_CLASSIFIER:
        initials = "".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]|(?:^|(?<=_))[a-z0-9]", classifier))
        words.append(classifier if len(classifier) <= _SHORT_NAME else initials or classifier)
    if seed is not None:
        words.append(f"s{seed}")
    return f"{' '.join(words)} · {experiment}"


def curve_name(name: str) -> tuple[str, float]:
    """Return the name of a record's curve, with unit and axis, and the factor to that unit.

    Examples
    --------
    >>> curve_name("test_error"), curve_name("kernel_mse_by_features")
    (('curves/test error in percent by step', 100.0), ('curves/kernel MSE by features', 1.0))
    """
    if name in _LEARNING_CURVES:
        return f"curves/{_LEARNING_CURVES[name]}", 1.0
    metric, _, axis = name.partition("_by_")
    style = metric_style(metric)
    words = [style.label, _UNITS.get(style.unit, ""), "by", axis.replace("_", " ") or "step"]
    return f"curves/{' '.join(filter(None, words))}", style.scale


def record_tags(record: Record) -> dict[str, Any]:
    """Return the tags of a run: its identity, what became of it, and where its numbers come from."""
    names = ("run_key", "dataset", "method", "classifier", "seed", "deterministic", "status")
    found: dict[str, Any] = {name: getattr(record, name) for name in names}
    found |= {"mlflow.source.name": "eigenbench", "mlflow.source.type": "PROJECT"}
    if failure := record.failure:
        found |= {f"failure_{name}": getattr(failure, name) for name in ("stage", "type", "log")}
    if environment := record.environment:
        facts = ("git_dirty", "code_hash", "python", "platform", "cpu", "threads")
        found |= {name: getattr(environment, name) for name in facts}
        found |= {f"version.{name}": version for name, version in environment.packages.items()}
        found["mlflow.source.git.commit"] = environment.git_commit
    return found


def record_metrics(record: Record, timestamp: int) -> list[Metric]:
    """Return the metrics, costs and curves of a record."""
    from mlflow.entities import Metric

    costs = {name: getattr(record, name) for name in _COSTS}
    final = record.metrics | {name: float(value) for name, value in costs.items() if value is not None}
    points = [(name, float(value), 0) for name, value in final.items()]
    for name, curve in record.curves.items():
        shown, scale = curve_name(name)
        points += [(shown, scale * value, step) for step, value in curve]
    names = allowed_names(name for name, _, _ in points)
    return [Metric(names[name], value, timestamp, step) for name, value, step in points]


def record_params(record: Record) -> list[Param]:
    """Return the parameters of a record, nested ones by dotted names."""
    from mlflow.entities import Param

    cell = {name: getattr(record, name) for name in ("dataset", "method", "classifier", "seed")}
    found = cell | _flat(record.params)
    names = allowed_names(found)
    return [Param(names[name], _param_text(value)) for name, value in found.items()]


def allowed_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names of metrics or parameters as MLflow takes them: few characters, and no ``..``.

    Names that would become equal get the beginning of the SHA-256 of the original.

    Examples
    --------
    >>> allowed_names(["precision@1", "../F1//macro"])
    {'precision@1': 'precision_1', '../F1//macro': '__/F1/macro'}
    """
    shown = {}
    for name in names:
        parts = re.sub(r"[^\w.\-/ ]", "_", name).split("/")
        parts = [part if part.strip(".") else "_" * len(part) for part in parts if part]
        shown[name] = "/".join(parts)[:_NAME_LENGTH].strip("/") or "_"
    shared = Counter(shown.values())
    for name, plain in shown.items():
        if shared[plain] > 1 and plain != name:
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            shown[name] = f"{plain[: _NAME_LENGTH - 9]}-{digest}"
    return shown


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


def record_datasets(record: Record) -> list[DatasetInput]:
    """Return the dataset that a run was trained on, as MLflow shows it.

    Its digest is the beginning of the SHA-256 of the prepared data; the whole sum is in the source.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    if (info := record.dataset_info) is None:
        return []
    source = {name: getattr(info, name) for name in ("source", "sha256", "licence", "split")}
    sizes = {"num_rows": info.n_train, "num_elements": info.n_train * info.n_features}
    sizes |= {"columns": info.n_features, "classes": info.n_classes, "test_rows": info.n_test}
    dataset = Dataset(
        name=info.name,
        digest=info.sha256[:_DIGEST_LENGTH],
        source_type="eigenbench",
        source=json.dumps(source),
        profile=json.dumps(sizes),
    )
    return [DatasetInput(dataset, [InputTag("mlflow.data.context", "training")])]


def write_confusion(folder: Path, confusion: Confusion) -> None:
    """Write the counts as ``confusion.csv``, one row per true class."""
    rows = ([label, *row] for label, row in zip(confusion.labels, confusion.matrix, strict=True))
    text = csv_text(["true \\ predicted", *confusion.labels], rows)
    (folder / "confusion.csv").write_text(text, encoding="utf-8", newline="")


def write_exhibits(folder: Path, exhibits: Sequence[Exhibit]) -> None:
    """Draw a run's exhibits as ``exhibits/<place>-<title>.png`` in a folder; empty ones are left out."""
    if not exhibits:
        return
    from eigenbench.reporting.exhibit_plots import as_png

    for place, exhibit in enumerate(exhibits, start=1):
        if (picture := as_png(exhibit)) is not None:
            title = re.sub(r"[^A-Za-z0-9]+", "-", exhibit.title).strip("-").lower()[:80]
            (folder / "exhibits").mkdir(exist_ok=True)
            (folder / "exhibits" / f"{place:02d}-{title}.png").write_bytes(picture)
