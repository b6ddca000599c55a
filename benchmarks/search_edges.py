"""Choices at the edge of their grid, by the records of a suite, for benchmarks/search_edges.csv.

A choice is the value of one numeric parameter by the search of one run; an edge is the least or the greatest
value that this search tried.

    python benchmarks/search_edges.py results/comparison > benchmarks/search_edges.csv

The committed file is of the tables ionosphere, sonar and wdbc with the seeds 0 and 1.
"""

import sys
from pathlib import Path

import pandas as pd

from eigenbench.bench.records.record import read_record
from eigenbench.reporting.parameters import chosen_values


def choices(folder):
    """Yield a line for each choice of each run below a folder of results."""
    for path in sorted(folder.rglob("record.json")):
        record = read_record(path)
        if record.search and record.search.selected is not None:
            for name, value, low, high in chosen_values(record.search):
                names = (record.dataset, record.method, record.classifier, name)
                yield (*names, len(record.search.candidates), value in (low, high))


if __name__ == "__main__":
    columns = ["dataset", "method", "classifier", "parameter", "candidates", "at_edge"]
    lines = pd.DataFrame(choices(Path(sys.argv[1])), columns=columns)
    counts = lines.groupby(columns[:5], sort=False)["at_edge"].agg(choices="size", at_edge="sum")
    counts.reset_index().to_csv(sys.stdout, index=False)
