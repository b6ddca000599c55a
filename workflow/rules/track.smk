localrules:
    track,


# One writer: the `mlflow` resource is limited to 1 by the profile, and the importer holds a lock.
rule track:
    input:
        lambda wildcards: BENCH.batch_records(wildcards.suite, wildcards.batch),
    output:
        f"{RESULTS}/tracked/{{suite}}/{{batch}}.json",
    log:
        "logs/track/{suite}.{batch}.log",
    retries: RETRIES
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
        mlflow=1,
    params:
        python=PYTHON,
        results=results_dir,
    message:
        "track {wildcards.suite} · {wildcards.batch}"
    shell:
        "exec {params.python} -m eigenbench.tracking --results-dir {params.results:q} --receipt {output:q} {input:q} 2> >(tee {log:q} >&2)"
