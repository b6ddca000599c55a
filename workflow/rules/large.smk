# Large work: every fit is a job of its own. `folder` is suite/experiment/method. Threads are those of
# the profile; memory is doubled after a lack of memory, time after a lack of time.
SEED = f"{RESULTS}/{{folder}}/seed-{{seed}}"
RUN = f"{SEED}/{{classifier}}"
FIT = (
    f"{JOB}.bench.jobs {{params.verb}} --job {{params.job:q}} --code {{params.code}}"
    " --replaces {params.replaces:q} --data-dir {params.data:q} --results-dir {params.results:q}"
    " --threads {threads} --attempts-left {resources.attempts_left} --workflow $PPID --log {log:q}"
    " {params.options:q}"
)


# The embedding that all classifiers share; below search/, one point of the method's grid, for the search.
rule embed:
    input:
        BENCH.prepared_data,
    output:
        f"{SEED}/{{place}}embedding.json",
        f"{SEED}/{{place}}features.skops",
    log:
        BENCH.logs["embed"],
    retries: RETRIES
    group:
        ATTEMPTS.group("fit", 120, BENCH.fits_together)
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=ATTEMPTS.mem_mb(5500),
        runtime=ATTEMPTS.runtime(120, BENCH.fits_together),
        attempts_left=attempts_left,
    params:
        verb="embed",
        data=lambda w: BENCH.local(DATA),
        results=lambda w: BENCH.local(RESULTS),
        job=lambda w: BENCH.part(w.folder).as_json,
        code=lambda w: job_code("embed", BENCH.part(w.folder)),
        replaces=lambda w: BENCH.states.of(
            f"{RESULTS}/{w.folder}/seed-{w.seed}/{w.place}embedding.json"
        ),
        options=lambda w: [
            *("--seeds", w.seed),
            *(["--point", *re.findall(r"\d+", w.place)] if w.place else []),
        ],
    message:
        "embed {wildcards.folder}/seed-{wildcards.seed}/{wildcards.place}"
    shell:
        FIT


use rule embed as search with:
    input:
        BENCH.prepared_data,
        BENCH.searched_embedding,
    output:
        f"{RUN}/search/point-{{point}}.json",
    log:
        BENCH.logs["search"],
    params:
        verb="search",
        job=lambda w: BENCH.part(w.folder, w.classifier).as_json,
        code=lambda w: job_code("search", BENCH.part(w.folder, w.classifier)),
        replaces=lambda w: BENCH.states.of(
            f"{RESULTS}/{w.folder}/seed-{w.seed}/{w.classifier}/search/point-{w.point}.json"
        ),
        options=lambda w, input: [
            *("--seeds", w.seed, "--classifier", w.classifier, "--point", w.point)
        ],
    message:
        "search {wildcards.folder}, {wildcards.classifier}, seed {wildcards.seed}, point {wildcards.point}"


use rule search as train with:
    input:
        BENCH.prepared_data,
        BENCH.shared_embedding,
        search=BENCH.searched_points,
    output:
        collect(f"{RUN}/{{file}}", file=TRAINED_FILES, allow_missing=True),
    log:
        BENCH.logs["train"],
    params:
        verb="train",
        code=lambda w: job_code("train", BENCH.part(w.folder, w.classifier)),
        replaces=lambda w: BENCH.states.of(
            f"{RESULTS}/{w.folder}/seed-{w.seed}/{w.classifier}/record.json"
        ),
        options=lambda w, input: [
            *("--seeds", w.seed, "--classifier", w.classifier),
            *(["--search", *input.search] if input.search else []),
        ],
    message:
        "train {wildcards.folder}, {wildcards.classifier}, seed {wildcards.seed}"


# A protocol in place of a classifier.
use rule embed as measure with:
    input:
        BENCH.prepared_data,
    output:
        f"{SEED}/record.json",
    log:
        BENCH.logs["measure"],
    group:
        None
    threads: lambda w: BENCH.cores(w.folder, workflow.cores)
    resources:
        mem_mb=ATTEMPTS.mem_mb(5500),
        runtime=ATTEMPTS.runtime(120),
        attempts_left=attempts_left,
    params:
        verb="measure",
        job=lambda w: BENCH.spec(w.folder).as_json,
        code=lambda w: job_code("measure", BENCH.spec(w.folder)),
        replaces=lambda w: BENCH.states.of(
            f"{RESULTS}/{w.folder}/seed-{w.seed}/record.json"
        ),
        options=lambda w: ["--seeds", w.seed],
    message:
        "measure {wildcards.folder}, seed {wildcards.seed}"
