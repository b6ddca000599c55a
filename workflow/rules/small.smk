# Small work: one job makes all runs of some methods, or of a seed: starting a job costs more than a fit.
# The paths are those of large work. Each job is a rule, as outputs can't be functions; `shell` sees the last
# value of a loop's variable, so what it needs of it goes through `params`.
for shared in BENCH.shared_jobs:

    rule:
        name:
            shared.name
        input:
            lambda w, shared=shared: BENCH.prepared(shared.methods[0].spec),
        output:
            [f"{RESULTS}/{file}" for file in shared.files],
        log:
            f"logs/{shared.methods[0].experiment}/{shared.name}.log",
        retries: RETRIES
        group:
            ATTEMPTS.group("method", 30, lambda w: RUN_TOGETHER)
        conda:
            ENVIRONMENT
        envmodules:
            MODULE,
        resources:
            mem_mb=ATTEMPTS.mem_mb(1500),
            runtime=ATTEMPTS.runtime(30, lambda w: RUN_TOGETHER),
            attempts_left=attempts_left,
        params:
            verb=shared.methods[0].verb,
            data=lambda w: BENCH.local(DATA),
            results=lambda w: BENCH.local(RESULTS),
            job=lambda w, shared=shared: [
                method.spec.as_json for method in shared.methods
            ],
            code=lambda w, shared=shared: job_code(
                shared.methods[0].verb, *(method.spec for method in shared.methods)
            ),
            replaces=lambda w, shared=shared: BENCH.states.of_records(
                *(
                    f"{RESULTS}/{file}"
                    for file in shared.files
                    if file.endswith(".json")
                )
            ),
            seeds=lambda w, shared=shared: list(shared.methods[0].seeds),
        message:
            shared.message
        shell:
            FIT
