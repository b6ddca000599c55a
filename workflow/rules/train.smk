rule search:
    input:
        prepared_data,
        searched_embedding,
    output:
        POINT,
    log:
        "logs/{folder}/seed-{seed}/{classifier}/search/point-{point}.log",
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
        job=known(lambda w: BENCH.part(w.folder, w.classifier).told),
        code=known(lambda w: BENCH.code("search", BENCH.part(w.folder, w.classifier))),
    message:
        "search {wildcards.folder}, {wildcards.classifier}, seed {wildcards.seed}, point {wildcards.point}"
    shell:
        job("search")
        + FIT_OPTIONS
        + " --seed {wildcards.seed} --classifier {wildcards.classifier:q}"
        " --point {wildcards.point}"


rule train:
    input:
        prepared_data,
        shared_embedding,
        moments=moments_of_chosen,
        search=searched_points,
    output:
        collect(f"{RUN}/{{file}}", file=TRAINED_FILES, allow_missing=True),
    log:
        "logs/{folder}/seed-{seed}/{classifier}/train.log",
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
        job=known(lambda w: BENCH.part(w.folder, w.classifier).told),
        code=known(lambda w: BENCH.code("train", BENCH.part(w.folder, w.classifier))),
        search=known(
            lambda w, input: ["--search", *input.search] if input.search else []
        ),
        moments=known(
            lambda w, input: ["--moments", *input.moments] if input.moments else []
        ),
    message:
        "train {wildcards.folder}, {wildcards.classifier}, seed {wildcards.seed}"
    shell:
        job("train")
        + FIT_OPTIONS
        + " --seed {wildcards.seed} --classifier {wildcards.classifier:q}"
        " {params.search:q} {params.moments:q}"


# A protocol in place of a classifier.
rule measure:
    input:
        prepared_data,
    output:
        f"{SEED}/record.json",
    log:
        "logs/{folder}/seed-{seed}/measure.log",
    retries: RETRIES
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
        job=known(lambda w: BENCH.spec(w.folder).told),
        code=known(lambda w: BENCH.code("measure", BENCH.spec(w.folder))),
    message:
        "measure {wildcards.folder}, seed {wildcards.seed}"
    shell:
        job("measure") + FIT_OPTIONS + " --seeds {wildcards.seed}"
