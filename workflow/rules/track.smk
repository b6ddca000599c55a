localrules:
    track,


# One writer: the `mlflow` resource is limited to 1 by the profile, and the importer holds a lock.
rule track:
    input:
        lambda w: BENCH.records(w.suite, w.experiment),
    output:
        f"{RESULTS}/{{suite}}/{{experiment}}/tracked.json",
    log:
        "logs/{suite}/{experiment}/track.log",
    retries: RETRIES
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
        mlflow=1,
    params:
        python=PYTHON,
        suite=lambda w: BENCH.suite_paths[w.suite],
        results=results_dir,
        reports=local(REPORTS),
        content=lambda w: BENCH.content_of([w.suite]),
    message:
        "track {wildcards.suite}, {wildcards.experiment}"
    shell:
        "exec {params.python} -m eigenbench.tracking --suite {params.suite:q} --experiment {wildcards.experiment:q}"
        " --results-dir {params.results:q} --reports-dir {params.reports:q} --receipt {output:q} 2> {log:q}"
