localrules:
    download,


# Both outcomes, a dataset and none, are an output: the runs of a dataset that no source gives are `not run`.
rule download:
    output:
        f"{DATA}/raw/{{dataset}}.json",
    log:
        "logs/download/{dataset}.log",
    retries: RETRIES
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    resources:
        mem_mb=1000,
        runtime=120,
    params:
        verb="download",
        data=lambda w: BENCH.local(DATA),
        catalogue=lambda w: BENCH.catalogue_of(w.dataset),
        code=lambda w: BENCH.data_code(w.dataset),
        replaces=lambda w: BENCH.states.of_dataset(w.dataset),
    message:
        "download {wildcards.dataset}"
    shell:
        f"{JOB}.bench.jobs {{params.verb}} {{wildcards.dataset:q}} --data-dir {{params.data:q}}"
        " --log {log:q} --replaces={params.replaces:q} {params.catalogue:q}"


use rule download as prepare with:
    input:
        rules.download.output,
    output:
        f"{DATA}/prepared/{{dataset}}.json",
        directory(f"{DATA}/prepared/{{dataset}}"),
    log:
        "logs/prepare/{dataset}.log",
    group:
        ATTEMPTS.group("prepare", 60, BENCH.prepared_together)
    resources:
        mem_mb=ATTEMPTS.mem_mb(lambda w: BENCH.prepare_mem_mb(w.dataset)),
        runtime=ATTEMPTS.runtime(60, BENCH.prepared_together),
    params:
        verb="prepare",
    message:
        "prepare {wildcards.dataset}"
