"""The code that a run depends on is found from the code: everything that a job executes, and little else."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from eigenbench.bench.code_hash import import_closure as closure
from eigenbench.bench.code_hash.import_closure import code_hash
from eigenbench.bench.code_hash.import_closure import import_closure as closure_of
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.protocols.available import PROTOCOLS
from eigenbench.bench.registry import COMPONENTS

SUITE = {
    "title": "t",
    "experiments": {
        "main": {
            "dataset": "mnist",
            "methods": {
                "gem": {"steps": [{"GEM": {"top": 1}}, "SignedPowers"], "grid": {"gem__top": [1, 2]}},
                "shared": {"steps": [{"GEM": {"top": 1}}]},
                "spherical": {"steps": [{"SphericalRandomFeatures": {"n_components": 32}}]},
            },
            "classifiers": ["CalibratedLeastSquares"],
        },
        "labels": {
            "dataset": "bibtex",
            "methods": {"plain": {}},
            "classifiers": {
                "LabelEmbeddingClassifier": {
                    "params": {"max_iter": 2},
                    "grid": {
                        "embedding": [{"Rembrandt": {"n_components": 3}}, {"PLST": {"n_components": 3}}]
                    },
                }
            },
            "validation": {"metric": "micro_f1"},
        },
        "kernel": {
            "dataset": "mnist",
            "protocol": "kernel_error",
            "settings": {"degree": 3, "sizes": [8, 16]},
            "methods": {"maclaurin": {"steps": [{"RandomMaclaurin": {"n_components": 8}}]}},
        },
        "pairs": {
            "dataset": "mnist",
            "protocol": "paired_comparison",
            "settings": {
                "variants": {"a": {}, "b": {"gem": {"NeighborhoodGEM": {"top": 1}}}},
                "reference": "a",
            },
            "methods": {"gem": {"steps": [{"GEM": {"top": 1}}]}},
        },
    },
}

# Runs jobs one after the other, each in a fork that has imported the libraries, and notes at the end of every
# process, that of a job and those of its fits, which end by `os._exit`, the modules that it executed.
RUN_JOBS = """
import json, os, runpy, sys
import numpy, pandas, pydantic, scipy.stats, skops.io, sklearn.linear_model, sklearn.pipeline, yaml
for folder, verb, options in json.loads(sys.argv[1]):
    os.mkdir(folder)
    job = os.fork()
    if job == 0:
        def end(status, end_now=os._exit):
            found = [name for name in sys.modules if name.startswith("eigenbench.")]
            with open(f"{folder}/{os.getpid()}", "w") as file:
                file.write(" ".join(found))
            end_now(status)
        os._exit = end
        sys.argv = [verb, *options]
        try:
            runpy.run_module(f"eigenbench.bench.jobs.{verb}", run_name="__main__", alter_sys=True)
        except SystemExit as error:
            end(error.code or 0)
    assert os.waitpid(job, 0)[1] == 0, (verb, options)
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    root = tmp_path_factory.mktemp("bench")
    (root / "s.yaml").write_text(yaml.safe_dump(SUITE, sort_keys=False))
    return Workflow({"suites": ["s"]}, root / "config.yaml", root, check=False)


GEM, KERNEL, PAIRS, LABELS = "s/main/gem", "s/kernel/maclaurin", "s/pairs/gem", "s/labels/plain"
CLS, LEC = "CalibratedLeastSquares", "LabelEmbeddingClassifier"

#: In an order in which each finds what it needs: module, method, classifiers and options.
JOBS = [
    ("download", None, (), ["digits"]),
    ("prepare", None, (), ["digits"]),
    ("moment_files", None, (), ["--rows", '{"name": "train"}', "--output", "moments/train.npz"]),
    ("embed", GEM, (), ["--seed", "0", "--point", "1"]),
    ("embed", "s/main/shared", (), ["--seed", "0", "--moments", "moments/train.npz"]),
    ("search", GEM, (CLS,), ["--seed", "0", "--classifier", CLS, "--point", "1"]),
    ("train", "s/main/shared", (CLS,), ["--seed", "0", "--classifier", CLS]),
    ("fit", GEM, (), ["--seeds", "0"]),
    ("fit", LABELS, (), ["--seeds", "0"]),
    ("measure", PAIRS, (), ["--seeds", "0"]),
]


def job_of(bench, verb, folder, classifiers, options):
    """Return the arguments of a job, and the modules that its hash covers, as the workflow has them."""
    modules = [f"eigenbench.bench.jobs.{verb}"]
    if verb in ("download", "prepare"):
        return [*options, "--data-dir", "own-data", "--log", "job.log"], closure_of(modules)
    told, code = '{"dataset": "mnist"}', bench.code(verb)
    if folder is not None:
        whole = bench.spec(folder)
        narrowed = whole.of_run(*classifiers) if classifiers else whole
        if verb == "embed":
            narrowed = whole.of_embedding()
        told, code = narrowed.told, bench.code(verb, narrowed)
        spec = JobSpec.model_validate_json(told)
        modules += [component.module for component in spec.components.values()]
        modules += [spec.protocol] if spec.protocol else []
    assert code_hash(modules) == code
    options = [*options, "--job", told, "--data-dir", "data", "--results-dir", "results", "--log", "job.log"]
    return options, closure_of(modules)


@pytest.mark.workflow
def test_everything_that_a_job_executes_is_in_its_hash(tmp_path, prepared, bench):
    (tmp_path / "data").symlink_to(prepared, target_is_directory=True)
    jobs = [job_of(bench, *job) for job in JOBS]
    given = [(str(number), JOBS[number][0], options) for number, (options, _) in enumerate(jobs)]
    command = [sys.executable, "-c", RUN_JOBS, json.dumps(given)]
    environment = {"PYTHONPATH": str(Path(closure.__file__).parents[3]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for number, (job, (_, covered)) in enumerate(zip(JOBS, jobs, strict=True)):
        processes = [set(path.read_text().split()) for path in (tmp_path / f"{number}").iterdir()]
        assert len(processes) > 1 or job[0] in ("download", "prepare"), "fits are forked"
        for executed in processes:
            assert executed
            assert executed <= covered, (job, executed - covered)
    for path in tmp_path.glob("results/**/*.json"):
        report = json.loads(path.read_bytes())
        assert report["status"] == "ok", (path, report["failure"])
    assert len(list(tmp_path.glob("results/**/record.json"))) == 4


IMPORT_EACH = """
import os, sys
from importlib import import_module
import numpy, scipy.sparse.linalg, scipy.stats, sklearn.pipeline, sklearn.linear_model, pydantic
for name in sys.argv[1:]:
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            import_module(name)
            found = [module for module in sys.modules if module.startswith("eigenbench.")]
        except ImportError as error:
            found = ["missing", str(error.name)]
        os.write(writer, " ".join(found).encode())
        os._exit(0)
    os.close(writer)
    print(name, os.read(reader, 1 << 16).decode())
"""


@pytest.mark.workflow
def test_all_that_the_import_of_a_component_or_protocol_executes_is_in_its_closure():
    modules = {item.module for item in COMPONENTS.values() if item.module.startswith("eigenbench")}
    modules |= {protocol.module for protocol in PROTOCOLS.values()}
    command = [sys.executable, "-c", IMPORT_EACH, *sorted(modules)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(modules)
    for name, first, *rest in lines:
        if first == "missing":
            assert not rest[0].startswith("eigenbench")
        else:
            assert {first, *rest} <= closure_of([name]), name


@pytest.fixture
def edited(monkeypatch):
    """Give a module another text, by default one more statement, for the rest of the test."""
    texts = {}
    real = {name: getattr(closure, name) for name in ("_text", "_facts", "_imports")}

    def edit(module, text=None):
        text = f"{closure._source(module).read_text()}\n_EDITED = 1\n" if text is None else text
        texts[module] = text

    def uncached_where_edited(name):
        return lambda module: (real[name].__wrapped__ if module in texts else real[name])(module)

    for name in ("_facts", "_imports"):
        monkeypatch.setattr(closure, name, uncached_where_edited(name))
    monkeypatch.setattr(closure, "_text", lambda module: texts.get(module) or real["_text"](module))
    monkeypatch.setattr(closure, "_hash", closure._hash.__wrapped__)
    return edit


@pytest.fixture(scope="module")
def before(bench):
    return codes(bench)


def codes(bench):
    """The code of every kind of job, for a run of each kind."""
    found = {(verb,): bench.data_code(verb, "digits") for verb in ("download", "prepare")}
    found["moment_files",] = bench.code("moment_files")
    for method in ("gem", "spherical"):
        folder = f"s/main/{method}"
        spec = bench.spec(folder)
        found["embed", method] = bench.code("embed", spec.of_embedding())
        for verb in ("search", "train"):
            found[verb, method] = bench.code(verb, spec.of_run(CLS))
        found["fit", method] = bench.code("fit", spec)
    found["fit", "labels"] = bench.code("fit", bench.spec(LABELS))
    found["measure", "kernel"] = bench.code("measure", bench.spec(KERNEL))
    found["measure", "pairs"] = bench.code("measure", bench.spec(PAIRS))
    found["report",] = bench.report_code()
    return found


def jobs_of(*verbs):
    return lambda job: job[0] in verbs


TRAINING = ("embed", "search", "train", "fit")

EDITS = {
    "experiments.scoring": jobs_of("search", "train", "fit"),
    "experiments.search": jobs_of("search", "train", "fit"),
    "experiments.train": jobs_of("train", "fit"),
    "experiments.fit": jobs_of("fit"),
    "experiments.measure": jobs_of("measure"),
    "experiments.embed": jobs_of(*TRAINING),
    "records.model_file": jobs_of(*TRAINING),
    "experiments.record_run": jobs_of("train", "fit", "measure"),
    "experiments.pipelines": jobs_of(*TRAINING, "measure"),
    "experiments.supervision": lambda job: job != ("report",),
    "experiments.rows": jobs_of("moment_files", *TRAINING, "measure"),
    "datasets.splits": lambda job: job not in (("download",), ("report",)),
    "datasets.dataset": jobs_of("moment_files", *TRAINING, "measure"),
    "datasets.verification": lambda job: job not in (("download",), ("report",)),
    "datasets.fetching": jobs_of("download", "prepare"),
    "datasets.sources.url": jobs_of("download", "prepare"),
    "datasets.readers.arff": jobs_of("prepare"),
    "datasets.up_to_date": jobs_of("prepare"),
    "datasets.catalogue": None,
    "moments": lambda job: job not in (("download",), ("prepare",), ("report",)),
    "embeddings.kernel_features.spherical": lambda job: "spherical" in job,
    "embeddings.discriminants.gem": lambda job: {"gem", "pairs"} & set(job),
    "embeddings.discriminants.neighborhood_gem": lambda job: "pairs" in job,
    "embeddings.labels.rembrandt": lambda job: "labels" in job,
    "embeddings.labels.plst": lambda job: "labels" in job,
    "classifiers.calibrated_least_squares": lambda job: (
        (job[0] in ("search", "train", "fit") and job[1] != "labels") or "pairs" in job
    ),
    "metrics.multilabel": jobs_of("search", "train", "fit"),
    "protocols.kernel_error": lambda job: "kernel" in job,
    "protocols.paired_comparison": lambda job: "pairs" in job,
}


@pytest.mark.parametrize("module", EDITS)
def test_an_edit_changes_the_jobs_that_execute_it_and_no_others(bench, before, edited, module):
    edited(f"eigenbench.{module}")
    after = codes(bench)
    changed = {job for job in before if before[job] != after[job]} - {("report",)}
    concerned = EDITS[module]
    if concerned is None:
        assert not {job for job in changed if job[0] in (*TRAINING, "measure", "moment_files")}
    else:
        assert changed == set(filter(concerned, before)) - {("report",)}


@pytest.mark.parametrize(
    "module",
    [
        "registry",
        "cli",
        *(f"experiments.{name}" for name in ("workflow", "plan", "cost", "remnants", "guard")),
        *(f"code_hash.{name}" for name in ("import_closure", "source_facts")),
        *(f"suites.{name}" for name in ("suite", "value_types", "suite_file")),
        "protocols.available",
        "tracking.importer",
        "reporting.site",
    ],
)
def test_what_only_plans_or_reports_changes_no_job(bench, before, edited, module):
    edited(f"eigenbench.{module}")
    after = codes(bench)
    assert {job for job in before if before[job] != after[job]} <= {("report",)}


def test_the_entry_of_a_dataset_is_part_of_what_makes_it(bench):
    for verb in ("download", "prepare"):
        assert bench.data_code(verb, "digits") != bench.data_code(verb, "mnist")


def hash_of(edited, text):
    edited("eigenbench.bench.jobs.scoring", text)
    return code_hash(["eigenbench.bench.jobs.scoring"])


def test_comments_docstrings_and_layout_do_not_change_the_hash(edited):
    plain = hash_of(edited, "def f(x):\n    return x + 1\n")
    documented = '"""Doc."""\n\n\ndef f(x):\n    """Add one."""\n    # one\n    return (x + 1)\n'
    assert hash_of(edited, documented) == plain


def test_a_changed_statement_changes_the_hash(edited):
    plain = hash_of(edited, "def f(x):\n    return x + 1\n")
    assert hash_of(edited, "def f(x):\n    return x + 2\n") != plain


@pytest.mark.parametrize(
    "statement",
    [
        "from eigenbench.methods.moments import ClassMoments",
        "from eigenbench.methods import moments",
        "from eigenbench import ClassMoments",
        "import eigenbench.methods.moments",
        "import eigenbench.methods.moments as m",
        "def f():\n    from eigenbench.methods.moments import ClassMoments",
    ],
)
def test_imports_are_followed(edited, statement):
    alone = hash_of(edited, "x = 1\n")
    assert hash_of(edited, f"{statement}\nx = 1\n") != alone
    found = closure_of(["eigenbench.bench.jobs.scoring"])
    assert "eigenbench.methods.moments" in found
    assert "eigenbench.methods.linalg.accumulation" in found, "what is imported there"


def test_names_that_a_package_imports_on_first_use_are_followed_one_by_one(edited):
    hash_of(edited, "from eigenbench.datasets import open_prepared\n")
    found = closure_of(["eigenbench.bench.jobs.scoring"])
    assert {"eigenbench.datasets", "eigenbench.datasets.dataset"} <= found
    assert "eigenbench.datasets.loading" not in found


def test_a_function_may_be_named_like_its_module():
    assert code_hash(["eigenbench.methods.embeddings.kernel_features.spherical"])


def test_other_packages_are_left_out():
    assert closure_of(["sklearn.decomposition", "json"]) == set()
    gem = ["eigenbench.methods.embeddings.discriminants.gem"]
    assert code_hash([*gem, "sklearn.decomposition"]) == code_hash(gem)


def test_relative_imports_which_are_not_followed_do_not_occur():
    for path in Path(closure.__file__).parents[2].rglob("*.py"):
        found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        assert not any(node.level for node in found), path
