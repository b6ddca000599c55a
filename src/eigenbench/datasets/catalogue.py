"""The catalogue: which datasets exist, which files they consist of and where each file may come from."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from eigenbench.datasets.errors import CatalogueError
from eigenbench.datasets.formats import AnyFormat, PartitionsFormat, PrintedFormat
from eigenbench.datasets.plain_yaml import explained, read_yaml
from eigenbench.datasets.project_files import project_folder
from eigenbench.datasets.sources import AnySource
from eigenbench.datasets.sources.local import FolderSource, MirrorSource, PartitionsSource, PathSource
from eigenbench.datasets.splits import (
    AnySplit,
    FirstSplit,
    FoldSplit,
    OfficialSplit,
    RandomSplit,
    RowCount,
    SampledSplit,
)
from eigenbench.datasets.strict_model import FileName, Sha256, StrictModel, Text, near_match

DatasetName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Part = Literal["train", "test", "all"]
#: Name of the user's own catalogue in a folder of suites; no suite can have it.
OWN_CATALOGUE = "datasets.yaml"
#: In place of a licence, citation or homepage.
NOT_STATED = "not stated"


class RawFile(StrictModel):
    """One file of a dataset's raw folder, whose sources are tried in their order.

    Sum and bytes are those of the stored file, the same for all sources; their ``decode`` steps stop with an
    error beyond the bytes. Only a file that the user supplies can go without both; it is taken as it is.
    """

    sha256: Sha256 | None = None
    bytes: Annotated[int, Field(gt=0)] | None = None
    sources: Annotated[tuple[AnySource, ...], Field(min_length=1)]


class Expectation(StrictModel):
    """Counts that the data must have; without ``exact_rows`` those of rows are for planning only."""

    rows: dict[Part, Annotated[int, Field(gt=0)]]
    features: Annotated[int, Field(gt=0)]
    classes: Annotated[int, Field(ge=1)]
    exact_rows: bool = True


class CatalogueEntry(StrictModel):
    """One dataset.

    Features of ``dtype`` uint8 are divided by ``scale`` when they are loaded; with ``sparse`` they are CSR.
    With ``missing``, missing values are kept as NaN for a step of the pipelines that replaces them; else they
    are an error. ``parts`` are the files of ``train`` and ``test``, or of ``all`` rows, in their order.
    ``supplied`` says how the user gets files that can't be fetched, by their licence or for want of known
    sums; they come from the mirror or from the raw folder.
    """

    title: Text
    licence: Text = NOT_STATED
    citation: Text = NOT_STATED
    homepage: Text = NOT_STATED
    target: Literal["multiclass", "multilabel", "regression"] = "multiclass"
    dtype: Literal["float32", "uint8"] = "float32"
    scale: Annotated[float, Field(gt=0)] | None = None
    sparse: bool = False
    missing: bool = False
    format: AnyFormat
    parts: dict[Part, Annotated[tuple[FileName, ...], Field(min_length=1)]]
    split: AnySplit = OfficialSplit()
    expect: Expectation
    files: dict[FileName, RawFile]
    supplied: Text | None = None

    @property
    def partitioned(self) -> bool:
        """True where the training rows stay in partitions."""
        return isinstance(self.format, PartitionsFormat)

    @property
    def rows_of_a_run(self) -> int:
        """Training and test rows of one split, at most."""
        rows, split = sum(self.expect.rows.values()), self.split
        if isinstance(split, RandomSplit | SampledSplit) and split.max_train and split.max_test:
            return min(rows, split.max_train + split.max_test)
        return rows

    @property
    def n_test(self) -> int | None:
        """Test rows of one split, but for rounding in each class; None for folds and without exact rows."""
        rows, split = self.expect.rows, self.split
        if not self.expect.exact_rows or isinstance(split, FoldSplit):
            return None
        if isinstance(split, FirstSplit):
            return rows["all"] - split.n_train
        if isinstance(split, RandomSplit):
            n_test = max(1, round(split.test_fraction * rows["all"]))
            return min(n_test, split.max_test or n_test)
        n_test = rows["test"]
        return min(n_test, split.max_test) if isinstance(split, SampledSplit) else n_test

    @model_validator(mode="after")
    def _has_checked_sources(self) -> "CatalogueEntry":
        for name, file in self.files.items():
            if (file.sha256 is None) != (file.bytes is None):
                raise ValueError(f"file {name}: sha256 and bytes go together")
            local = all(
                isinstance(source, PathSource | PartitionsSource)
                or (self.supplied is not None and isinstance(source, MirrorSource | FolderSource))
                for source in file.sources
            )
            if file.sha256 is None and not local:
                raise ValueError(
                    f"file {name}: only a file that is beside the catalogue, or supplied and from a mirror, "
                    "can go without sha256"
                )
        return self

    @model_validator(mode="after")
    def _is_wholly_partitioned(self) -> "CatalogueEntry":
        kinds = {
            isinstance(source, PartitionsSource) for file in self.files.values() for source in file.sources
        }
        if kinds != {self.partitioned}:
            raise ValueError("format partitions and sources with 'partitions' go together, in every file")
        if not self.partitioned:
            return self
        if self.target != "multiclass" or self.sparse or self.missing or self.dtype != "float32":
            raise ValueError("format partitions takes dense float32 rows without gaps and one label each")
        if self.split.kind != "official" or any(len(names) > 1 for names in self.parts.values()):
            raise ValueError("format partitions needs an official split, and one file for each part")
        return self

    @model_validator(mode="after")
    def _is_consistent(self) -> "CatalogueEntry":
        wanted = {"train", "test"} if self.split.kind in ("official", "sampled") else {"all"}
        if set(self.parts) != wanted or set(self.expect.rows) != wanted:
            raise ValueError(f"split {self.split.kind!r} needs parts and expect.rows for {sorted(wanted)}")
        used = {file for part in self.parts.values() for file in part}
        if used != set(self.files):
            raise ValueError(f"parts name {sorted(used)}, files name {sorted(self.files)}")
        if (self.dtype == "uint8") != (self.scale is not None) or (self.sparse and self.dtype == "uint8"):
            raise ValueError("dtype uint8 needs a scale and dense features; float32 takes no scale")
        if self.target != "multiclass" and getattr(self.split, "stratify", False):
            raise ValueError(f"a {self.target} dataset can't be stratified")
        if (self.target == "regression") != (self.expect.classes == 1):
            raise ValueError("a regression has expect.classes 1, and other targets have more")
        if getattr(self.format, "one_hot", False) and set(self.parts) != {"all"}:
            raise ValueError("one_hot numbers the categories of one table: it needs the part all alone")
        if isinstance(self.format, PrintedFormat) and self.split.kind not in ("official", "random"):
            raise ValueError(
                "format printed has the parts train and test: it needs an official or random split"
            )
        return self


class Sample(StrictModel):
    """An entry that draws rows of another dataset by the split seed, of each class its share.

    Official parts are drawn from separately; without them one half of the rows is the test part.
    """

    of: str
    max_rows: Annotated[dict[Literal["train", "test"], RowCount], Field(min_length=2)]

    def of_entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the keys of the other dataset's entry with another split and title."""
        train, test = self.max_rows["train"], self.max_rows["test"]
        whole = entry.get("split")
        official = not isinstance(whole, dict) or whole.get("kind") == "official"
        split: dict[str, Any] = {"kind": "sampled"} if official else {"kind": "random", "test_fraction": 0.5}
        split |= {
            "max_train": train,
            "max_test": test,
            "stratify": entry.get("target", "multiclass") == "multiclass",
        }
        title = f"{entry['title']}; at most {train:,} training and {test:,} test rows, drawn by the seed"
        return entry | {"title": title, "split": split}


class Catalogue(StrictModel):
    """All datasets, by name, and the file that they were read from, which error messages name."""

    path: str
    datasets: dict[DatasetName, CatalogueEntry]

    @field_validator("datasets", mode="before")
    @classmethod
    def _with_samples(cls, entries: Any) -> Any:
        """Write the entries that name another one out in full."""
        if not isinstance(entries, dict):
            return entries
        whole = dict(entries)
        for name, entry in entries.items():
            if isinstance(entry, dict) and "of" in entry:
                sample = Sample.model_validate(entry)
                if not isinstance(entries.get(sample.of), dict) or "title" not in entries[sample.of]:
                    raise ValueError(f"{name}: no dataset {sample.of!r} with keys of its own in this file")
                whole[name] = sample.of_entry(entries[sample.of])
        return whole

    def entry(self, name: str) -> CatalogueEntry:
        """Return the entry of a dataset, or raise `CatalogueError` with the nearest name."""
        if name not in self.datasets:
            raise CatalogueError(
                f"{self.path}: no dataset {name!r}.{near_match(name, self.datasets)} "
                f"There are {', '.join(sorted(self.datasets))}"
            )
        return self.datasets[name]


def default_catalogue_path() -> Path:
    """Return the catalogue that comes with eigenbench."""
    return project_folder() / "config" / "datasets.yaml"


def load_catalogue(path: str | Path | None = None) -> Catalogue:
    """Read and validate a YAML file, by default the catalogue that comes with eigenbench.

    It is cached by path and modification time. Raises a `CatalogueError` if the file can't be read or parsed,
    or a key or value is wrong, with the file, the key and, for an unknown key, the nearest known one.

    Examples
    --------
    >>> from eigenbench.datasets import load_catalogue
    >>> load_catalogue().entry("mnist").expect.features
    784
    """
    path = default_catalogue_path() if path is None else Path(path)
    try:
        return _load(path.absolute(), path.stat().st_mtime_ns)
    except OSError as error:
        raise CatalogueError(f"{path}: can't read the catalogue: {error.strerror}") from error


@cache
def _load(path: Path, _modified_ns: int) -> Catalogue:
    content = read_yaml(path, CatalogueError)
    if not isinstance(content, dict):
        raise CatalogueError(f"{path}: expected a mapping with the key 'datasets'")
    try:
        context = {"folder": path.parent}
        return Catalogue.model_validate({"path": str(path), **content}, context=context)
    except ValidationError as error:
        raise CatalogueError(explained(path, error, StrictModel)) from None


def own_catalogue(suites_dir: Path) -> Path | None:
    """Return the path of the catalogue in a folder of suites, None where there is none."""
    path = suites_dir / OWN_CATALOGUE
    return path if path.is_file() else None


def load_with_own(suites_dir: Path) -> Catalogue:
    """Return the shipped catalogue with that of a folder of suites, which wins where both have a name."""
    path = own_catalogue(suites_dir)
    if path is None:
        return load_catalogue()
    own = load_catalogue(path)
    return own.model_copy(update={"datasets": {**load_catalogue().datasets, **own.datasets}})
