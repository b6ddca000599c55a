from snakemake.utils import min_version

min_version("9.10")


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"


# The default target: the suites that config.yaml names.
rule all:
    input:
        report_files(""),
        lambda w: target(BENCH.config.suites),
    message:
        "all done"


include: "workflow/rules/data.smk"
include: "workflow/rules/embed.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/small.smk"
include: "workflow/rules/track.smk"
include: "workflow/rules/report.smk"


# A target for each suite, and one for every published table.
for suite in BENCH.suite_paths:

    rule:
        name:
            suite
        input:
            report_files(f"{suite}/"),
            lambda w, suite=suite: target([suite]),
        message:
            "all done"


rule paper:
    input:
        report_files("paper/"),
        lambda w: target(BENCH.paper),
    message:
        "all done"
