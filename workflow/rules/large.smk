# Large work: every run is a job of its own. `folder` is suite/experiment/method.
FIT = (
    f"{JOB}.bench.jobs {{params.verb}} --job {{params.job:q}} --code {{params.code}}"
    " --replaces {params.replaces:q} --data-dir {params.data:q} --results-dir {params.results:q}"
    " --threads {threads} --attempts-left {resources.attempts_left} --workflow $PPID --log {log:q}"
    " --seeds {params.seeds}"
)


rule train:
    input:
        lambda w: BENCH.prepared(BENCH.spec(w.folder)),
    output:
        collect(
            f"{RESULTS}/{{folder}}/seed-{{seed}}/{{classifier}}/{{file}}",
            file=TRAINED_FILES,
            allow_missing=True,
        ),
    log:
        "logs/{folder}/seed-{seed}/{classifier}/train.log",
    retries: RETRIES
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    threads: lambda w, attempt: BENCH.threads(w.folder, attempt)
    resources:
        mem_mb=ATTEMPTS.mem_mb(LARGE_MB),
        runtime=ATTEMPTS.runtime(240),
        attempts_left=attempts_left,
    params:
        verb="train",
        data=lambda w: BENCH.local(DATA),
        results=lambda w: BENCH.local(RESULTS),
        job=lambda w: BENCH.spec(w.folder, w.classifier).as_json,
        code=lambda w: job_code("train", BENCH.spec(w.folder, w.classifier)),
        replaces=lambda w: BENCH.states.of_records(
            f"{RESULTS}/{w.folder}/seed-{w.seed}/{w.classifier}/record.json"
        ),
        seeds=lambda w: w.seed,
    message:
        "train {wildcards.folder}, {wildcards.classifier}, seed {wildcards.seed}"
    shell:
        FIT


# A protocol in place of a classifier.
use rule train as measure with:
    output:
        f"{RESULTS}/{{folder}}/seed-{{seed}}/record.json",
    log:
        "logs/{folder}/seed-{seed}/measure.log",
    params:
        verb="measure",
        job=lambda w: BENCH.spec(w.folder).as_json,
        code=lambda w: job_code("measure", BENCH.spec(w.folder)),
        replaces=lambda w: BENCH.states.of_records(
            f"{RESULTS}/{w.folder}/seed-{w.seed}/record.json"
        ),
    message:
        "measure {wildcards.folder}, seed {wildcards.seed}"
