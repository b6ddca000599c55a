"""Content of runs in MLflow: name, parameters, metrics, tags, dataset, files, and their descriptions."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from eigenbench.bench.records.record import Confusion, Record
from eigenbench.bench.records.runs import within_method
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.display_names import classifier_name, dataset_name, experiment_name, method_name
from eigenbench.reporting.formatting import metric_style, seconds
from eigenbench.reporting.leaderboard import TIED
from eigenbench.reporting.page_tables import published_table
from eigenbench.reporting.replicates import reason, total_seconds
from eigenbench.reporting.shown_table import NONE, escape_markdown
from eigenbench.tracking.suite_store import Key
from eigenbench.tracking.summaries import Summary

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput, Metric, Param

# The most that MLflow takes in one value, in a name and in a dataset's digest.
_PARAM_LENGTH = 6000
_NAME_LENGTH = 250
_DIGEST_LENGTH = 36

_MOST_ROWS = 30
#: Columns of `methods_table` that fit into a description.
_MOST_COLUMNS = 7

_COSTS = ("dimension", "search_seconds", "fit_seconds", "train_seconds", "predict_seconds", "peak_rss_mb")
_UNITS = {"%": "in percent", "s": "in seconds", "nats": "in nats"}
_LEARNING_CURVES = {
    "loss_curve": "training loss by iteration",
    "validation_curve": "held-out loss by iteration",
}


def shown_name(record: Record, *, seed: bool = True) -> str:
    """Return the name of a run or, without its seed, of its summary; the dashboard cuts names."""
    where = experiment_name(record.experiment, record.dataset)
    parts = (method_name(record.method), where, classifier_name(record.classifier))
    return " · ".join(filter(None, (f"seed {record.seed}" * seed, *parts)))


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

    identity = ("dataset", "method", "classifier", "seed")
    found = {name: getattr(record, name) for name in identity} | _flat(record.params)
    names = allowed_names(found)
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in found.items()}
    return [Param(names[name], _shortened(text)) for name, text in texts.items()]


def _shortened(text: str) -> str:
    return text if len(text) <= _PARAM_LENGTH else text[: _PARAM_LENGTH - 1] + "…"


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
        nested = isinstance(value, dict) and value
        flat |= _flat(value, f"{prefix}{name}.") if nested else {prefix + name: value}
    return flat


def record_datasets(record: Record) -> list[DatasetInput]:
    """Return the dataset that a run was trained on; its digest is the beginning of the SHA-256."""
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


def confusion_csv(confusion: Confusion) -> bytes:
    """Return the counts as CSV, one row per true class."""
    rows = ([label, *row] for label, row in zip(confusion.labels, confusion.matrix, strict=True))
    return csv_text(["true \\ predicted", *confusion.labels], rows).encode()


def suite_note(suite: Suite, reports_dir: Path) -> str:
    """Describe a suite: what it reproduces, the command that runs it, and where its report is."""
    paragraphs = map(escape_markdown, suite.description.strip().split("\n\n"))
    return "\n\n".join([f"**{escape_markdown(suite.title)}**", *paragraphs, _places(suite.name, reports_dir)])


def run_note(record: Record, path: Path) -> str:
    """Describe one run: what became of it, and the command that makes it again."""
    parts = []
    if failure := record.failure:
        cause = f"{failure.stage}: {failure.type}: {failure.message}"
        parts.append(f"**{record.status}** {escape_markdown(cause)}")
    parts.append(f"Run it again: {_code(f'snakemake --force {shlex.quote(str(path))}')}")
    return "\n\n".join(parts)


def overview_note(
    suite: str,
    experiment: str,
    spec: ExperimentSpec | None,
    summaries: Sequence[Summary],
    links: Mapping[Key, str],
    reports_dir: Path,
) -> str:
    """Describe an experiment: its methods by rank, linked to their summaries, and where to read more."""
    table = methods_table(summaries).iloc[:, :_MOST_COLUMNS].fillna("")
    table["method"] = [
        f"[{escape_markdown(name)}]({links[item.key]})"
        for name, item in zip(table["method"], summaries, strict=True)
    ]
    sources = dict.fromkeys(number.source for number in spec.published) if spec else {}
    return "\n\n".join(
        [
            f"**{escape_markdown((spec.title if spec else None) or experiment)}**",
            *[f"Published in: {escape_markdown(source)}" for source in sources],
            _table(table.columns, table.to_numpy()),
            f"{'Lower' if summaries[0].lower else 'Higher'} is better. Methods are ranked by their mean over "
            "seeds. Those with = cannot be distinguished from the best (5 % level).",
            _places(suite, reports_dir),
        ]
    )


def methods_table(summaries: Sequence[Summary]) -> pd.DataFrame:
    """Return the methods of an experiment; of the columns the dashboard shows four in 1,440 pixels."""
    mark = f" {TIED}" * (sum(bool(item.place["tied"]) for item in summaries) > 1)
    shared = len({item.key.classifier for item in summaries}) == 1
    return pd.DataFrame(
        [
            {
                "rank": f"{item.place['rank'] or NONE}{mark * bool(item.place['tied'])}",
                "method": item.runs.filter_name if shared else item.runs.title,
                item.style.heading: item.style.measured(item.estimate.mean if item.estimate else None),
                "verdict": item.tags["verdict"],
                "95 % interval": item.tags["interval"],
                "published": item.style.exact(item.reference.number.value) if item.reference else None,
                **{name: None if cost is None else f"{cost:.4g}" for name, cost in item.costs.items()},
                "seeds": len(item.runs.finished),
                "compared with the best over": item.tags["compared_over"],
            }
            for item in summaries
        ],
        dtype=object,
    )


def summary_note(
    summary: Summary,
    results_dir: Path,
    reports_dir: Path,
    run_links: Mapping[str, str],
    model_uri: str | None,
) -> str:
    """Describe a method and classifier, its seeds, published numbers and commands; links are by run key."""
    records, style, found = summary.runs.records, summary.style, summary.estimate
    # MLflow folds all but the first lines.
    command = f"Run it: {_code(f'snakemake {_target(records, results_dir)}')}"
    parts = [f"**{escape_markdown(f'{summary.runs.title} on {dataset_name(records[0].dataset)}')}**", command]
    if found is not None:
        seeds = f"{found.n_seeds} seed" + ("s" if found.n_seeds > 1 else "")
        interval = summary.tags["interval"]
        interval = f", 95 % interval {interval} ({found.interval})" if interval else ""
        parts.append(f"{style.heading}: mean **{style.measured(found.mean)}** over {seeds}{interval}")
    if summary.published:
        parts.append(published_table("published", summary.published).markdown())
    rows = [
        (
            str(record.seed),
            style.measured(record.metrics.get(summary.headline))
            if record.status == "ok"
            else escape_markdown(reason(record)),
            seconds(total_seconds(record)),
            f"[record.json]({run_links[record.run_key]})",
        )
        for record in records[:_MOST_ROWS]
    ]
    parts.append(_table(("seed", style.heading, "fit + train (s)", "record"), rows))
    parts.append(_places(records[0].suite, reports_dir))
    if model_uri:
        parts.append(f"Serve its best model: `mlflow models serve -m {model_uri} --env-manager local`")
    return "\n\n".join(parts)


def _target(records: Sequence[Record], results_dir: Path) -> str:
    """Return the shell's words for the record files of all seeds."""
    first = records[0]
    seeds = [str(record.seed) for record in records]
    folder = results_dir / first.suite / first.experiment / first.method / "seed-"
    all_seeds = seeds[0] if len(seeds) == 1 else f"{{{','.join(seeds)}}}"
    rest = within_method("", first.classifier).removeprefix("seed-")
    return f"{shlex.quote(str(folder))}{all_seeds}{shlex.quote(f'{rest}/record.json')}"


def _places(suite: str, reports_dir: Path) -> str:
    """Name the command of a suite, and its report: in its own folder when it was asked for by name."""
    own, common = (_code(str(folder / "index.html")) for folder in (reports_dir / suite, reports_dir))
    command = _code(f"snakemake {shlex.quote(suite)}")
    return f"Run the suite: {command}\n\nReport: {own} after {command}, {common} after `snakemake`"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown, from cells that are Markdown."""
    names = list(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *rows])


def _code(text: str) -> str:
    """Return a text as Markdown shows code, which may hold backticks."""
    line = " ".join(text.split())
    return f"`{line}`" if "`" not in line else f"`` {line} ``"
