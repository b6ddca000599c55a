RUN = f"{SEED}/{{classifier}}"


def searched_embedding(wildcards):
    """The embedding of a candidate, fitted on the part of the training rows that the search fits on."""
    spec = BENCH.method(wildcards.folder).spec
    if not spec.steps:
        return []
    point = spec.points(wildcards.classifier)[int(wildcards.point)].embedding
    return collect(
        rules.embed.output, **{**wildcards, "place": f"/search/point-{point}"}
    )


rule search:
    input:
        lambda w: BENCH.prepared(BENCH.method(w.folder).spec),
        searched_embedding,
    output:
        f"{RUN}/search/point-{{point}}.json",
    log:
        "logs/{folder}/seed-{seed}/{classifier}/search/point-{point}.log",
    retries: RETRIES
    group:
        "method"
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
        job=lambda w: BENCH.told(w.folder, w.classifier),
        code=lambda w: BENCH.job_code("search", w.folder, w.classifier),
    message:
        "search {wildcards.folder}, {wildcards.classifier}, seed {wildcards.seed}, point {wildcards.point}"
    shell:
        job("search")
        + FIT_OPTIONS
        + " --seed {wildcards.seed} --classifier {wildcards.classifier:q}"
        " --point {wildcards.point}"


def shared_embedding(wildcards):
    if BENCH.method(wildcards.folder).spec.shares_embedding:
        return collect(rules.embed.output, **wildcards, place="")
    return []


def moments_of_chosen(wildcards):
    """The moments for an embedding whose parameters are searched, and which the job itself therefore fits."""
    spec = BENCH.method(wildcards.folder).spec
    return embedded_rows(wildcards) if spec.grid else []


rule train:
    input:
        lambda w: BENCH.prepared(BENCH.method(w.folder).spec),
        shared_embedding,
        moments=moments_of_chosen,
        search=lambda w: collect(
            rules.search.output,
            **w,
            point=BENCH.searched_points(w.folder, w.classifier),
        ),
    output:
        collect(f"{RUN}/{{file}}", file=TRAINED_FILES, allow_missing=True),
    log:
        "logs/{folder}/seed-{seed}/{classifier}/train.log",
    retries: RETRIES
    group:
        "method"
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
        job=lambda w: BENCH.told(w.folder, w.classifier),
        code=lambda w: BENCH.job_code("train", w.folder, w.classifier),
        search=lambda w, input: ["--search", *input.search] if input.search else [],
        moments=lambda w, input: ["--moments", *input.moments] if input.moments else [],
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
        lambda w: BENCH.prepared(BENCH.method(w.folder).spec),
    output:
        f"{SEED}/record.json",
    log:
        "logs/{folder}/seed-{seed}/measure.log",
    retries: RETRIES
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
        job=lambda w: BENCH.told(w.folder),
        code=lambda w: BENCH.job_code("measure", w.folder),
    message:
        "measure {wildcards.folder}, seed {wildcards.seed}"
    shell:
        job("measure") + FIT_OPTIONS + " --seeds {wildcards.seed}"
