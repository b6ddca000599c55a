localrules:
    report,
    track,


rule report:
    input:
        BENCH.read_by_report,
    output:
        report(
            f"{REPORTS}/{{report}}index.html",
            category="Report",
            caption="../report/page.rst",
        ),
        *[
            report(
                f"{REPORTS}/{{report}}{table}.csv",
                category="Tables",
                caption=f"../report/{table}.rst",
            )
            for table in REPORT_TABLES
        ],
        report(
            directory(f"{REPORTS}/{{report}}figures"),
            patterns=["{name}.svg"],
            category="Figures",
            caption="../report/figure.rst",
        ),
    log:
        "logs/report/{report}report.log",
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        results=lambda w: BENCH.local(RESULTS),
        suites=lambda w: [BENCH.suite_paths[suite] for suite in BENCH.reported(w)],
        folder=lambda w: f"{BENCH.local(REPORTS)}/{w.report}",
        code=lambda w: BENCH.report_code(),
        content=lambda w: BENCH.content_of(BENCH.reported(w)),
    message:
        "report {params.folder}"
    shell:
        f"{JOB}.reporting --suite {{params.suites:q}} --results-dir {{params.results:q}}"
        " --reports-dir {params.folder:q} 2> {log:q}"


# One writer: the profile limits the resource `mlflow` to 1, and the importer holds a lock. A job imports a
# suite, or, with a folder behind it in `only`, one experiment of a suite that takes long.
rule track:
    input:
        BENCH.imported,
    output:
        f"{RESULTS}/{{suite}}/{{only}}{BENCH.receipt}",
    log:
        "logs/{suite}/{only}track.log",
    retries: RETRIES
    conda:
        ENVIRONMENT
    envmodules:
        MODULE,
    resources:
        mem_mb=1500,
        runtime=60,
        mlflow=1,
    params:
        folder=lambda w: f"{w.suite}/{w.only}".rstrip("/"),
        suite=lambda w: BENCH.suite_paths[w.suite],
        only=lambda w: ["--experiment", w.only.rstrip("/")] if w.only else [],
        results=lambda w: BENCH.local(RESULTS),
        reports=lambda w: BENCH.local(REPORTS),
        content=lambda w: BENCH.content_of([w.suite]),
        replaces=lambda w: BENCH.states.of_receipt(
            f"{w.suite}/{w.only}{BENCH.receipt}", receipt_is_current
        ),
    message:
        "track {params.folder}"
    shell:
        f"{JOB}.tracking --suite {{params.suite:q}} {{params.only:q}}"
        " --results-dir {params.results:q} --reports-dir {params.reports:q}"
        " --receipt {output:q} --replaces={params.replaces:q} 2> {log:q}"
