from snakemake.utils import min_version

min_version("9.10")


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"


# Targets: `all` (default; the suites that config.yaml names), each suite, the suites of papers, every suite.
for target, suites in BENCH.targets.items():

    rule:
        name:
            target
        input:
            BENCH.report_files(target),
            lambda w, suites=suites: BENCH.files_of(suites),
        message:
            BENCH.message_of(target)


include: "workflow/rules/data.smk"
include: "workflow/rules/large.smk"
include: "workflow/rules/small.smk"
include: "workflow/rules/report.smk"
