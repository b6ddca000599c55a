#!/usr/bin/env bash
# EIGENBENCH_SOURCE names a checkout, whose constraints then hold, or a wheel; without it the newest release is taken.
set -euo pipefail
source=${EIGENBENCH_SOURCE:-eigenbench}
options=()
if [ -f "$source/constraints.txt" ]; then
    options=(-c "$source/constraints.txt")
fi
python -m pip install --quiet "${options[@]}" "$source[suite]"
