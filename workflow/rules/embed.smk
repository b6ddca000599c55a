# Large work: every fit is a job of its own. `folder` is suite/experiment/method.


# The embedding that all classifiers share; below search/, one point of the method's grid, for the search.
rule embed:
    input:
        prepared_data,
        moments=embedded_rows,
    output:
        EMBEDDING,
    log:
        "logs/{folder}/seed-{seed}/{place}embed.log",
    retries: RETRIES
    group:
        "fit"
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    threads: cores
    resources:
        mem_mb=fit_mem_mb,
        runtime=fit_runtime,
        attempts_left=attempts_left,
    params:
        data=data_dir,
        results=results_dir,
        job=known(lambda w: BENCH.part(w.folder).told),
        code=known(lambda w: BENCH.code("embed", BENCH.part(w.folder))),
        point=known(
            lambda w: (["--point", *re.findall(r"\d+", w.place)] if w.place else [])
        ),
        moments=known(
            lambda w, input: ["--moments", *input.moments] if input.moments else []
        ),
    message:
        "embed {wildcards.folder}/seed-{wildcards.seed}/{wildcards.place}"
    shell:
        job("embed")
        + FIT_OPTIONS
        + " --seed {wildcards.seed} {params.point:q} {params.moments:q}"
