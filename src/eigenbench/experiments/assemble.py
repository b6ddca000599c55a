"""Put the reports of a run's tasks together into its record."""

from __future__ import annotations

from typing import Any

from eigenbench.experiments.plan import Cell, Task
from eigenbench.experiments.record import (
    Candidate,
    Confusion,
    DatasetInfo,
    Environment,
    Failure,
    ModelInfo,
    Record,
    Search,
)
from eigenbench.experiments.suite import StepSpec, step_names
from eigenbench.experiments.workspace import Workspace


def assemble_record(cell: Cell, workspace: Workspace) -> Record:
    """Return the record of one run from its finished tasks.

    Raises
    ------
    ArtifactError
        If a task of the run has not been finished.
    """
    embed, train, evaluate = (workspace.read_meta(task) for task in (cell.embed, cell.train, cell.evaluate))
    search = _search(cell, workspace)
    dataset = workspace.dataset(cell.dataset)
    metas = [workspace.read_meta(task) for task in _all_tasks(cell.evaluate)]
    base: dict[str, Any] = {
        "run_key": cell.run_key,
        "suite": cell.suite,
        "experiment": cell.experiment,
        "dataset": cell.dataset,
        "method": cell.method,
        "classifier": cell.classifier,
        "seed": cell.seed,
        "deterministic": cell.deterministic,
        "status": evaluate["status"],
        "search": search,
        "dataset_info": _dataset_info(dataset) if dataset["card"] else None,
        "peak_rss_mb": max((meta.get("peak_rss_mb", 0.0) for meta in metas), default=None) or None,
        "environment": Environment(**train["environment"]) if "environment" in train else None,
        "started": min(meta["started"] for meta in metas),
        "finished": evaluate["finished"],
    }
    if evaluate["status"] != "ok":
        return Record(**base, failure=Failure(**evaluate["failure"]))
    metrics = {f"test_{name}": value for name, value in evaluate["metrics"].items()}
    if search is not None and search.selected is not None:
        score = search.candidates[search.selected].score
        if score is not None:
            metrics[f"validation_{search.metric}"] = score
    model_path = workspace.artifact(cell.train) / "model.skops"
    return Record(
        **base,
        metrics=metrics,
        curves=train["curves"],
        confusion=Confusion(**evaluate["confusion"]),
        params=_flat_params(embed["steps"], train["classifier"]),
        dimension=embed["dimension"],
        fit_seconds=embed["seconds"],
        train_seconds=train["seconds"],
        predict_seconds=evaluate["predict_seconds"],
        model=ModelInfo(
            path=str(model_path.relative_to(workspace.root)),
            sha256=train["files"]["model.skops"],
            bytes=model_path.stat().st_size,
            input_dtype=train["input_dtype"],
            n_features=train["n_features"],
        ),
    )


def _all_tasks(task: Task) -> list[Task]:
    found = {task.key: task}
    for need in task.needs:
        found.update((other.key, other) for other in _all_tasks(need))
    return list(found.values())


def _flat_params(steps: list[dict[str, Any]], classifier: dict[str, Any]) -> dict[str, Any]:
    specs = tuple(StepSpec.model_validate(step) for step in steps)
    flat = {
        f"{name}__{key}": value
        for name, step in zip(step_names(specs), specs, strict=True)
        for key, value in step.params.items()
    }
    flat |= {f"classifier__{key}": value for key, value in classifier["params"].items()}
    flat["steps"] = " → ".join([*(step.component for step in specs), classifier["component"]])
    return flat


def _search(cell: Cell, workspace: Workspace) -> Search | None:
    if cell.select is None:
        return None
    meta = workspace.read_meta(cell.select)
    if meta["status"] != "ok":
        return None
    candidates = [Candidate(**candidate) for candidate in meta["candidates"]]
    return Search(metric=meta["metric"], candidates=candidates, selected=meta["selected"])


def _dataset_info(dataset: dict[str, Any]) -> DatasetInfo:
    card = dataset["card"]
    split = card["split"]
    if split["kind"] == "random":
        strata = "of each class" if split["stratify"] else "of the rows"
        text = f"{split['test_fraction']:.3g} {strata} for the test, drawn by the seed"
    else:
        text = "official"
    return DatasetInfo(
        sha256=dataset["sha256"],
        split=text,
        source="; ".join(dict.fromkeys(source["source"] for source in card["sources"])),
        **{name: card[name] for name in ("name", "n_train", "n_test", "n_features", "n_classes", "licence")},
    )
