# Small work: one job makes all runs of some methods, or of a method and seed, because starting a job costs more
# than a fit. The paths are those of large work. Rules for each experiment, as outputs can't be functions; only of
# the suites that the command can need, because a thousand rules cost seconds at every start of Snakemake;
# `shell` sees the last value of a loop's variable, so what it needs of it goes through `params`.
for jobs in BENCH.shared_jobs:

    rule:
        name:
            jobs.name
        input:
            lambda w, jobs=jobs: prepared(small_specs(jobs, w)[0]),
        output:
            jobs.outputs,
        log:
            jobs.log,
        wildcard_constraints:
            method=one_of(jobs.methods),
        priority: jobs.priority
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
            job=lambda w, jobs=jobs: [spec.told for spec in small_specs(jobs, w)],
            code=lambda w, jobs=jobs: BENCH.code(jobs.verb, *small_specs(jobs, w)),
            seeds=lambda w, jobs=jobs: jobs.seeds or w.seed,
        message:
            f"{'measure' if jobs.verb == 'measure' else 'train'} {jobs.message}"
        shell:
            job("{params.verb}") + FIT_OPTIONS + " --seeds {params.seeds}"
