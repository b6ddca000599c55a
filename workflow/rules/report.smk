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
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        code=BENCH.report_code(),
    message:
        "report"
    shell:
        "exec {PYTHON} -m eigenbench.reporting --all-suites-in {SUITES_DIR:q} --results-dir {RESULTS:q}"
        " --reports-dir {REPORTS:q} 2> >(tee {log:q} >&2)"


# The report of a suite that is not among the default ones: it joins the same pages.
rule suite_report:
    input:
        lambda wildcards: BENCH.records(wildcards.suite),
    output:
        f"{RESULTS}/reports/{{suite}}.json",
    log:
        "logs/report.{suite}.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        code=BENCH.report_code(),
    message:
        "report {wildcards.suite}"
    shell:
        "exec {PYTHON} -m eigenbench.reporting --all-suites-in {SUITES_DIR:q} --results-dir {RESULTS:q}"
        " --reports-dir {REPORTS:q} --receipt {output:q} 2> >(tee {log:q} >&2)"
