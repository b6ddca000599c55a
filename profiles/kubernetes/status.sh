#!/bin/sh
# usage: status.sh JOB: say "success", "failed" or "running", as Snakemake asks.
if ! answer=$(kubectl get job "$1" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}' 2>&1); then
    case $answer in
        *NotFound*) echo failed ;;
        *) echo running ;;  # the API server does not answer: ask again later
    esac
    exit 0
fi
case " $answer " in
    *" Complete "*) echo success ;;
    *" Failed "*) echo failed ;;
    *) echo running ;;
esac
