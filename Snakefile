from snakemake.utils import min_version

min_version("9.10")


configfile: f"{workflow.basedir}/config/config.yaml"


include: "workflow/rules/common.smk"


# The default target: the suites that config.yaml names.
rule all:
    input:
        suite_outputs(BENCH.config.suites),


include: "workflow/rules/data.smk"
include: "workflow/rules/embed.smk"
include: "workflow/rules/classify.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/track.smk"
include: "workflow/rules/report.smk"


# One target per suite, and one for every published table.
for suite_name in BENCH.plans:

    rule:
        name:
            suite_name
        input:
            suite_outputs([suite_name]),


rule paper:
    input:
        suite_outputs(name for name in BENCH.plans if name != "quick"),
