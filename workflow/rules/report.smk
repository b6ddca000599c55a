localrules:
    report,
    suite_report,


rule report:
    input:
        [record for suite in BENCH.config.suites for record in BENCH.records(suite)],
    output:
        f"{REPORTS}/index.html",
        f"{REPORTS}/results.csv",
        f"{REPORTS}/comparison.csv",
    log:
        "logs/report.log",
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        python=PYTHON,
        suites=SUITES_DIR,
        asked=[BENCH.suite_paths[suite] for suite in BENCH.config.suites],
        results=results_dir,
        reports=reports_dir,
        code=lambda wildcards: BENCH.report_code(),
    message:
        "report"
    shell:
        "exec {params.python} -m eigenbench.reporting --suite {params.asked:q} --all-suites-in {params.suites:q}"
        " --results-dir {params.results:q} --reports-dir {params.reports:q} 2> >(tee {log:q} >&2)"


# The report of a suite that is not among the default ones: it joins the same pages.
rule suite_report:
    input:
        lambda wildcards: BENCH.records(wildcards.suite),
    output:
        touch(f"{RESULTS}/reports/{{suite}}.done"),
    log:
        "logs/report.{suite}.log",
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        python=PYTHON,
        suites=SUITES_DIR,
        asked=lambda wildcards: BENCH.suite_paths[wildcards.suite],
        results=results_dir,
        reports=reports_dir,
        code=lambda wildcards: BENCH.report_code(),
    message:
        "report {wildcards.suite}"
    shell:
        "exec {params.python} -m eigenbench.reporting --suite {params.asked:q} --all-suites-in {params.suites:q}"
        " --results-dir {params.results:q} --reports-dir {params.reports:q} 2> >(tee {log:q} >&2)"
