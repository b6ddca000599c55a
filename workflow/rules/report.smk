localrules:
    report,


rule report:
    input:
        lambda w: [
            file for suite in reported(w) for file in BENCH.read_by_reports(suite)
        ],
    output:
        report(
            f"{REPORTS}/{{report}}index.html",
            category="Report",
            caption="../report/page.rst",
        ),
        report(
            f"{REPORTS}/{{report}}results.csv",
            category="Tables",
            caption="../report/results.rst",
        ),
        report(
            f"{REPORTS}/{{report}}comparison.csv",
            category="Tables",
            caption="../report/comparison.rst",
        ),
        report(
            f"{REPORTS}/{{report}}leaderboard.csv",
            category="Tables",
            caption="../report/leaderboard.rst",
        ),
        report(
            f"{REPORTS}/{{report}}ranks.csv",
            category="Tables",
            caption="../report/ranks.rst",
        ),
        report(
            f"{REPORTS}/{{report}}pairs.csv",
            category="Tables",
            caption="../report/pairs.rst",
        ),
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
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        python=PYTHON,
        suites=lambda w: [BENCH.suite_paths[suite] for suite in reported(w)],
        results=results_dir,
        folder=lambda w: f"{local(REPORTS)}/{w.report}",
        code=lambda w: BENCH.report_code(),
        content=lambda w: BENCH.content_of(reported(w)),
    message:
        "report {params.folder}"
    shell:
        "exec {params.python} -m eigenbench.reporting --suite {params.suites:q}"
        " --results-dir {params.results:q} --reports-dir {params.folder:q} 2> {log:q}"
