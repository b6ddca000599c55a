localrules:
    track,


# One writer: the `mlflow` resource is limited to 1 by the profile, and the importer holds a lock. A job imports
# a suite, or, with a folder behind it in `only`, one experiment of a suite that takes long.
rule track:
    input:
        lambda w: BENCH.records(w.suite, w.only.rstrip("/") or None),
    output:
        f"{RESULTS}/{{suite}}/{{only}}tracked.json",
    log:
        "logs/{suite}/{only}track.log",
    retries: RETRIES
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    resources:
        mem_mb=1500,
        runtime=60,
        mlflow=1,
    params:
        folder=lambda w: f"{w.suite}/{w.only}".rstrip("/"),
        python=PYTHON,
        suite=lambda w: BENCH.suite_paths[w.suite],
        only=lambda w: ["--experiment", w.only.rstrip("/")] if w.only else [],
        results=results_dir,
        reports=local(REPORTS),
        content=lambda w: BENCH.content_of([w.suite]),
    message:
        "track {params.folder}"
    shell:
        "exec {params.python} -m eigenbench.tracking --suite {params.suite:q} {params.only:q}"
        " --results-dir {params.results:q} --reports-dir {params.reports:q} --receipt {output:q} 2> {log:q}"
