#!/usr/bin/env bash
# EIGENBENCH_SOURCE names a checkout, whose constraints then hold, or a wheel. The package index has another project of this name.
set -euo pipefail
source=${EIGENBENCH_SOURCE:?names no checkout or wheel of eigenbench}
options=()
if [ -f "$source/constraints.txt" ]; then
    options=(-c "$source/constraints.txt")
fi
python -m pip install --quiet "${options[@]}" "$source[suite]"
