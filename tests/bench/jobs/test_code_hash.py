"""The code that a run depends on is found from the code: everything that a job executes, and little else."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import eigenbench
import eigenbench.datasets
from eigenbench.bench.code_hash import code_digest, code_hash, import_closure
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.shared_jobs import job_code
from eigenbench.bench.jobs.workflow import Workflow
from eigenbench.bench.protocols.available import PROTOCOLS
from eigenbench.bench.registry import COMPONENTS

SOURCE = Path(eigenbench.__file__).parent

SUITE = {
    "title": "t",
    "experiments": {
        "main": {
            "dataset": "mnist",
            "methods": {
                "gem": {"steps": [{"GEM": {"top": 1}}, "SignedPowers"], "grid": {"gem__top": [1, 2]}},
                "shared": {"steps": [{"GEM": {"top": 1}}]},
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
        sys.argv = ["jobs", verb, *options]
        try:
            runpy.run_module("eigenbench.bench.jobs", run_name="__main__", alter_sys=True)
        except SystemExit as error:
            end(error.code or 0)
    assert os.waitpid(job, 0)[1] == 0, (verb, options)
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    root = tmp_path_factory.mktemp("bench")
    (root / "s.yaml").write_text(yaml.safe_dump(SUITE, sort_keys=False))
    return Workflow({"suites": ["s"]}, root / "config.yaml", root, check=False)


GEM, PAIRS, LABELS = "s/main/gem", "s/pairs/gem", "s/labels/plain"
CLS, LEC = "CalibratedLeastSquares", "LabelEmbeddingClassifier"

#: In an order in which each finds what it needs: module, method, classifiers and options.
JOBS = [
    ("download", None, (), ["digits"]),
    ("prepare", None, (), ["digits"]),
    ("train", "s/main/shared", (CLS,), ["--seeds", "0"]),
    ("train", GEM, (), ["--seeds", "0"]),
    ("train", LABELS, (), ["--seeds", "0"]),
    ("measure", PAIRS, (), ["--seeds", "0"]),
]


def job_of(bench, verb, folder, classifiers, options):
    """Return the arguments of a job, and the modules that its hash covers, as the workflow has them."""
    if verb in ("download", "prepare"):
        covered = import_closure(["eigenbench.bench.jobs.data"])
        return [*options, "--data-dir", "own-data", "--log", "job.log"], covered
    modules = [f"eigenbench.bench.jobs.{verb}"]
    whole = bench.spec(folder)
    narrowed = whole.of_run(*classifiers) if classifiers else whole
    told = narrowed.as_json
    spec = JobSpec.model_validate_json(told)
    modules += [component.module for component in spec.components.values()]
    modules += [spec.protocol] if spec.protocol else []
    assert code_hash(modules) == job_code(verb, narrowed)
    options = [*options, "--job", told, "--data-dir", "data", "--results-dir", "results", "--log", "job.log"]
    return options, import_closure(modules)


@pytest.mark.workflow
def test_everything_that_a_job_executes_is_in_its_hash(tmp_path, prepared, bench):
    (tmp_path / "data").symlink_to(prepared, target_is_directory=True)
    jobs = [job_of(bench, *job) for job in JOBS]
    given = [(str(number), JOBS[number][0], options) for number, (options, _) in enumerate(jobs)]
    command = [sys.executable, "-c", RUN_JOBS, json.dumps(given)]
    environment = {"PYTHONPATH": str(SOURCE.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for number, (job, (_, covered)) in enumerate(zip(JOBS, jobs, strict=True)):
        processes = [set(path.read_text().split()) for path in (tmp_path / f"{number}").iterdir()]
        assert len(processes) > 1 or job[0] in ("download", "prepare"), "fits are forked"
        for executed in processes:
            assert executed
            assert not executed - covered, (job, executed - covered)
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
            assert {first, *rest} <= import_closure([name]), name


def test_the_entry_of_a_dataset_is_part_of_what_makes_it(bench):
    assert bench.data_code("digits") != bench.data_code("mnist")


PLAIN = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Doc."""\n\n\ndef f(x):\n    """Add one."""\n    # one\n    return (x + 1)\n', True),
        (f"_EXPORTS = {{}}\n{PLAIN}", True),
        ("def f(x):\n    return x + 2\n", False),
        ("def f(x):\n    return x + 1\n\n\nf(0)\n", False),
        ("@g\ndef f(x):\n    return x + 1\n", False),
    ],
)
def test_comments_docstrings_and_layout_do_not_count_and_statements_do(text, same):
    assert (code_digest(text) == code_digest(PLAIN)) == same


def test_other_packages_are_left_out():
    assert import_closure(["sklearn.decomposition", "json"]) == set()
    gem = ["eigenbench.methods.embeddings.discriminants.gem"]
    assert code_hash([*gem, "sklearn.decomposition"]) == code_hash(gem)


def test_no_module_imports_what_a_package_imports_on_first_use():
    lazy = {package.__name__: package._EXPORTS for package in (eigenbench, eigenbench.datasets)}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not node.level, path
                taken = {alias.name for alias in node.names} & set(lazy.get(node.module, ()))
                assert not taken, f"{path}: import {taken} from the modules that define them"
