# Small work: one job makes all runs of a method, or of a method and seed, because starting a job costs more
# than a fit. The paths are those of large work. One rule for each experiment, as outputs can't be functions;
# `shell` sees the last value of a loop's variable, so what it needs of it goes through `params`.
for jobs in BENCH.shared_jobs:

    rule:
        name:
            jobs.name
        input:
            lambda w, jobs=jobs: BENCH.prepared(small_spec(jobs, w)),
        output:
            jobs.outputs,
        log:
            jobs.log,
        wildcard_constraints:
            method=one_of(jobs.methods),
        retries: RETRIES
        group:
            "method"
        conda:
            ENVIRONMENT
        envmodules:
            MODULE,
        threads: 1
        resources:
            mem_mb=small_mem_mb,
            runtime=small_runtime,
            attempts_left=attempts_left,
        params:
            verb=jobs.verb,
            data=data_dir,
            results=results_dir,
            job=lambda w, jobs=jobs: small_spec(jobs, w).told,
            code=lambda w, jobs=jobs: BENCH.code(jobs.verb, small_spec(jobs, w)),
            seeds=lambda w, jobs=jobs: w.get("seed")
            or BENCH.method(f"{jobs.suite}/{jobs.experiment}/{w.method}").seeds,
        message:
            f"{'measure' if jobs.verb == 'measure' else 'train'} {jobs.message}"
        shell:
            job("{params.verb}") + FIT_OPTIONS + " --seeds {params.seeds}"
