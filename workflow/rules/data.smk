localrules:
    download,


rule download:
    output:
        f"{RESULTS}/datasets/{{dataset}}.download.json",
    log:
        "logs/download/{dataset}.log",
    retries: RETRIES
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    params:
        data=DATA,
        code=lambda wildcards: BENCH.data_code(wildcards.dataset),
        retry=lambda wildcards: BENCH.retry_token(wildcards.dataset),
    message:
        "download {wildcards.dataset}"
    shell:
        job("download")
        + " {wildcards.dataset:q} --data-dir {params.data:q} --retry {params.retry:q}"
        " --output {output:q} --log {log:q}"


rule prepare:
    input:
        f"{RESULTS}/datasets/{{dataset}}.download.json",
    output:
        f"{RESULTS}/datasets/{{dataset}}.prepared.json",
    log:
        "logs/prepare/{dataset}.log",
    retries: RETRIES
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: BENCH.prepare_mem_mb(
            wildcards.dataset, attempt
        ),
        runtime=60,
    params:
        data=DATA,
        code=lambda wildcards: BENCH.data_code(wildcards.dataset),
    message:
        "prepare {wildcards.dataset}"
    shell:
        job("prepare")
        + " {wildcards.dataset:q} --data-dir {params.data:q} --downloaded {input:q}"
        " --output {output:q} --log {log:q}"
