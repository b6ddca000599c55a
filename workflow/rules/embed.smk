# Large work: every fit is a job of its own. `folder` is suite/experiment/method.
SEED = f"{RESULTS}/{{folder}}/seed-{{seed}}"


def embedded_rows(wildcards):
    """The moments of the rows that an embedding is fitted on: all training rows, or those of the search."""
    spec = BENCH.method(wildcards.folder).spec
    name = "fit" if wildcards.get("place") else "train"
    return BENCH.moments_of(spec, spec.rows(name, int(wildcards.seed)))


# The embedding that all classifiers share; below search/, one point of the method's grid, for the search.
rule embed:
    input:
        lambda w: BENCH.prepared(BENCH.method(w.folder).spec),
        moments=embedded_rows,
    output:
        f"{SEED}{{place}}/embedding.json",
        f"{SEED}{{place}}/features.skops",
    log:
        "logs/{folder}/seed-{seed}{place}/embed.log",
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
        job=lambda w: BENCH.told(w.folder, ""),
        code=lambda w: BENCH.job_code("embed", w.folder, ""),
        point=lambda w: ["--point", w.place.rpartition("-")[2]] if w.place else [],
        moments=lambda w, input: ["--moments", *input.moments] if input.moments else [],
    message:
        "embed {wildcards.folder}, seed {wildcards.seed}{wildcards.place}"
    shell:
        job("embed")
        + FIT_OPTIONS
        + " --seed {wildcards.seed} {params.point:q} {params.moments:q}"
