#!/bin/sh
# usage: status.sh JOB: say "success", "failed" or "running", as Snakemake asks.
if ! answer=$(scontrol --oneliner show job "$1" 2>&1); then
    case $answer in
        *"Invalid job id"*) echo failed ;;
        *) echo running ;;  # the controller does not answer: ask again later
    esac
    exit 0
fi
state=${answer#*JobState=}
case ${state%% *} in
    COMPLETED) echo success ;;
    PENDING | CONFIGURING | RUNNING | COMPLETING | SUSPENDED | STOPPED | SIGNALING | STAGE_OUT) echo running ;;
    *) echo failed ;;
esac
