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
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    params:
        data=data_dir,
        catalogue=lambda w: BENCH.catalogue_of(w.dataset),
        code=lambda w: BENCH.data_code("download", w.dataset),
    message:
        "download {wildcards.dataset}"
    shell:
        job("download")
        + " {wildcards.dataset:q} --data-dir {params.data:q} --log {log:q} {params.catalogue:q}"


rule prepare:
    input:
        rules.download.output,
    output:
        f"{DATA}/prepared/{{dataset}}.json",
        directory(f"{DATA}/prepared/{{dataset}}"),
    log:
        "logs/prepare/{dataset}.log",
    retries: RETRIES
    group:
        lambda w: "prepare" if BENCH.is_small(w.dataset) else None
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=lambda w, attempt: BENCH.prepare_mem_mb(w.dataset, attempt),
        runtime=60,
    params:
        data=data_dir,
        catalogue=lambda w: BENCH.catalogue_of(w.dataset),
        code=lambda w: BENCH.data_code("prepare", w.dataset),
    message:
        "prepare {wildcards.dataset}"
    shell:
        job("prepare")
        + " {wildcards.dataset:q} --data-dir {params.data:q} --log {log:q} {params.catalogue:q}"


MOMENT_OPTIONS = f"{FIT_OPTIONS} --rows {{params.rows:q}} --output {{output.moments:q}}"


rule moments_shard:
    input:
        rules.prepare.output if STORED else rules.prepare.output[0],
    output:
        moments=temp(f"{DATA}/moments/{{dataset}}/{{rows}}/shard-{{shard}}.npz"),
        report=temp(f"{DATA}/moments/{{dataset}}/{{rows}}/shard-{{shard}}.json"),
    log:
        "logs/moments/{dataset}/{rows}/shard-{shard}.log",
    priority: 1
    retries: RETRIES
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    threads: lambda w: min(4, workflow.cores or 4)
    resources:
        mem_mb=fit_mem_mb,
        runtime=fit_runtime,
        attempts_left=attempts_left,
    params:
        data=data_dir,
        results=results_dir,
        job=lambda w: moment_job(w)[0].model_dump_json(exclude_defaults=True),
        rows=lambda w: moment_job(w)[1].model_dump_json(),
        of=lambda w: BENCH.shards(w.dataset),
        code=lambda w: BENCH.code("moment_files"),
    message:
        "moments {wildcards.dataset}, {wildcards.rows}, shard {wildcards.shard} of {params.of}"
    shell:
        job("moment_files")
        + MOMENT_OPTIONS
        + " --shard {wildcards.shard} --of {params.of}"


# One pass over the rows for all embeddings that are fitted on class moments. They wait for it: it is begun first.
rule moments:
    input:
        rules.prepare.output if STORED else rules.prepare.output[0],
        shards=shards,
    output:
        moments=f"{DATA}/moments/{{dataset}}/{{rows}}.npz",
        report=f"{DATA}/moments/{{dataset}}/{{rows}}.json",
    log:
        "logs/moments/{dataset}/{rows}.log",
    priority: 1
    retries: RETRIES
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    threads: lambda w: min(8, workflow.cores or 8)
    resources:
        mem_mb=fit_mem_mb,
        runtime=fit_runtime,
        attempts_left=attempts_left,
    params:
        data=data_dir,
        results=results_dir,
        job=lambda w: moment_job(w)[0].model_dump_json(exclude_defaults=True),
        rows=lambda w: moment_job(w)[1].model_dump_json(),
        merge=lambda w, input: ["--merge", *input.shards] if input.shards else [],
        code=lambda w: BENCH.code("moment_files"),
    message:
        "moments {wildcards.dataset}, {wildcards.rows}"
    shell:
        job("moment_files") + MOMENT_OPTIONS + " {params.merge:q}"
