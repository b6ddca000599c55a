"""Parts of experiments: names, seeds and grids; methods, classifiers, validation, published numbers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eigenbench.bench.protocols.base import SettingsModel, Several
from eigenbench.bench.records.runs import RECEIPTS, RESULT_FILES
from eigenbench.bench.records.sealed_json import REFUSED
from eigenbench.bench.registry import COMPONENTS, NAMES, find_component, near_match
from eigenbench.bench.suites import steps


def _check_folder_name(name: str) -> str:
    folded = name.casefold()
    if folded.startswith("seed-"):
        raise ValueError(f"{name!r} is the name of a folder of results: choose another")
    if folded.rstrip(".").removesuffix(REFUSED) in RESULT_FILES or folded.startswith(RECEIPTS):
        raise ValueError(f"{name!r} is the name of a file of results: choose another")
    return name


def _check_folders(named: dict[str, Any]) -> dict[str, Any]:
    """Raise where two names are one folder on file systems that ignore case and trailing dots."""
    seen: dict[str, str] = {}
    for name in named:
        other = seen.setdefault(name.casefold().rstrip("."), name)
        if other != name:
            raise ValueError(f"{other!r} and {name!r} are the same folder on some systems: rename one")
    return named


def check_distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return hashable values as they are, or raise a ValueError that names one given twice."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{value!r} is given twice")
        seen.add(value)
    return values


def check_components(value: Any) -> Any:
    """Raise where a component inside a parameter value has parameters that are not a mapping."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in NAMES:
        ((name, value),) = value.items()
        if value is not None and not isinstance(value, dict):
            raise ValueError(f"{name}: its parameters must be a mapping, found {value!r:.80}")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_components(item)
    return value


T = TypeVar("T")
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
FolderName = Annotated[Identifier, AfterValidator(_check_folder_name)]
Named = Annotated[dict[FolderName, T], AfterValidator(_check_folders)]
Params = Annotated[dict[str, Any], AfterValidator(check_components)]
Grid = Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], AfterValidator(check_components)]
Seeds = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**32)], ...],
    Field(min_length=1, strict=False),
    AfterValidator(check_distinct),
]
#: Automatic checks of results; see `eigenbench.reporting.checks`. Reports list ``grid_edge`` by itself.
CheckCode = Literal["guessing", "leak", "one_class", "identical", "outlying_seed", "slow_search", "grid_edge"]
Seconds = Annotated[float, Field(gt=0)]

#: Metrics of multilabel data that can choose among candidates, and whether more is better.
MULTILABEL_METRICS: dict[str, bool] = {
    "hamming_loss": False,
    "micro_f1": True,
    "macro_f1": True,
    "macro_f1_present": True,
    "macro_f1_by_label": True,
    **{
        f"{name}_at_{k}": True for name in ("precision", "ndcg", "ps_precision", "ps_ndcg") for k in (1, 3, 5)
    },
}
#: Metrics of classes that can; less is better.
MULTICLASS_METRICS = ("error", "log_loss", "brier", "balanced_error")
#: Metrics of numbers that can choose among candidates, and whether more is better.
REGRESSION_METRICS = {"rmse": False, "mae": False, "r2": True}


class SuiteError(ValueError):
    """A suite or configuration file is not valid; the message names file, key and remedy."""


class SuiteModel(SettingsModel):
    """Base of the parts of a suite file."""


def _parse_step(value: Any) -> Any:
    """Accept ``Name``, ``[Name, params]`` and ``{Name: params}``."""
    if isinstance(value, str):
        return {"component": value}
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return {"component": value[0], "params": value[1]}
    if isinstance(value, dict) and len(value) == 1 and "component" not in value:
        ((name, params),) = value.items()
        return {"component": name, "params": {} if params is None else params}
    return value


def check_reference(kind: str, name: str | None, known: list[str]) -> None:
    """Raise a ValueError with the nearest known name unless one is known, or None."""
    if name is not None and name not in known:
        raise ValueError(f"unknown {kind} {name!r}.{near_match(name, known)} Known here: {', '.join(known)}")


def _check_step(step: steps.Step) -> steps.Step:
    find_component(step.component)
    check_components(step.params)
    return step


Step = Annotated[steps.Step, BeforeValidator(_parse_step), AfterValidator(_check_step)]


class MethodSpec(SuiteModel):
    """A feature pipeline. ``grid`` maps ``step__parameter`` to the values to search on validation data."""

    steps: Several[Step] = ()
    grid: Grid = {}
    seeds: Seeds | None = None


class ClassifierSpec(SuiteModel):
    """A classifier and its grid, with keys ``parameter``; ``methods`` it is trained on, by default all."""

    component: str
    params: Params = {}
    grid: Grid = {}
    methods: Several[Identifier] | None = None

    @model_validator(mode="after")
    def _is_classifier(self) -> ClassifierSpec:
        if find_component(self.component, kind="classifier").kind not in ("classifier", "control", None):
            known = [name for name, item in COMPONENTS.items() if item.kind == "classifier"]
            raise ValueError(f"{self.component!r} is no classifier. Known: {', '.join(known)}")
        return self


class ValidationSpec(SuiteModel):
    """The part of the training rows held out to choose hyperparameters; the test rows are never used.

    A metric of `MULTILABEL_METRICS` makes a multilabel experiment, where the thresholds of the decisions are
    chosen on that part too; one of `REGRESSION_METRICS` an experiment with numbers as targets. With
    ``n_points`` every search has that many candidates, whatever the sizes of its grids; without, all points
    of its grids.
    """

    fraction: float = Field(default=1 / 6, gt=0, lt=1)
    metric: str = "error"
    n_points: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _is_known(self) -> ValidationSpec:
        check_reference(
            "metric", self.metric, [*MULTICLASS_METRICS, *MULTILABEL_METRICS, *REGRESSION_METRICS]
        )
        return self

    @property
    def multilabel(self) -> bool:
        """True for a metric of multilabel data."""
        return self.metric in MULTILABEL_METRICS

    @property
    def target(self) -> str:
        """The kind of target that the metric is for."""
        if self.multilabel:
            return "multilabel"
        return "regression" if self.metric in REGRESSION_METRICS else "multiclass"

    @property
    def higher_is_better(self) -> bool:
        """True for a metric of which more is better."""
        return {**MULTILABEL_METRICS, **REGRESSION_METRICS}.get(self.metric, False)


class PropensitySpec(SuiteModel):
    """The constants of the label propensities of Jain et al. (KDD 2016) in propensity-scored metrics."""

    a: float = Field(default=0.55, gt=0)
    b: float = Field(default=1.5, gt=0)


class PublishedNumber(SuiteModel):
    """A number from a paper.

    ``method`` is None for a number that is only quoted; ``not_run`` then says why. ``two_sided`` is for a
    number that is neither better when less nor when more, such as a threshold. ``interval`` is the source's
    own, or that of its rounding. A ``bound`` is one of this project, which is checked and counts as no
    published number. ``why_off`` explains a measured value that is off, and names the experiment behind it.
    """

    source: str
    label: str | None = None
    method: Identifier | None = None
    classifier: Identifier | None = None
    metric: str
    value: float
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    lower_is_better: bool = True
    two_sided: bool = False
    bound: bool = False
    not_run: str | None = None
    why_off: str | None = None

    @model_validator(mode="after")
    def _run_or_quoted(self) -> PublishedNumber:
        if (self.method is None) == (self.not_run is None):
            raise ValueError("give either 'method' (it is run here) or 'not_run' (why it is only quoted)")
        if self.method is None and self.label is None:
            raise ValueError("a quoted number needs a 'label'")
        if self.interval is not None and not self.interval[0] <= self.value <= self.interval[1]:
            raise ValueError(f"the interval {self.interval} does not hold the value {self.value:g}")
        return self


class Deviation(SuiteModel):
    """A difference of a suite from its paper, and its reason."""

    paper: str = Field(min_length=1)
    here: str = Field(min_length=1)
    why: str = Field(min_length=1)
