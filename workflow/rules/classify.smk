rule train:
    input:
        unit_inputs,
    output:
        f"{RESULTS}/train/{{unit}}.json",
    log:
        "logs/train/{unit}.log",
    retries: RETRIES
    group:
        unit_group
    envmodules:
        MODULE,
    threads: unit_threads
    resources:
        mem_mb=unit_mem_mb,
        runtime=unit_runtime,
        attempts_left=attempts_left,
    params:
        results=results_dir,
        suite=unit_suite,
        code=unit_code,
        label=unit_label,
    message:
        "train {params.label}"
    shell:
        job("train") + UNIT_OPTIONS


rule evaluate:
    input:
        unit_inputs,
    output:
        f"{RESULTS}/evaluate/{{unit}}.json",
    log:
        "logs/evaluate/{unit}.log",
    retries: RETRIES
    group:
        unit_group
    envmodules:
        MODULE,
    threads: unit_threads
    resources:
        mem_mb=unit_mem_mb,
        runtime=unit_runtime,
        attempts_left=attempts_left,
    params:
        results=results_dir,
        suite=unit_suite,
        code=unit_code,
        label=unit_label,
    message:
        "evaluate {params.label}"
    shell:
        job("evaluate") + UNIT_OPTIONS


rule select:
    input:
        unit_inputs,
    output:
        f"{RESULTS}/select/{{unit}}.json",
    log:
        "logs/select/{unit}.log",
    retries: RETRIES
    group:
        unit_group
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=unit_mem_mb,
        runtime=unit_runtime,
        attempts_left=attempts_left,
    params:
        results=results_dir,
        suite=unit_suite,
        code=unit_code,
        label=unit_label,
    message:
        "select {params.label}"
    shell:
        job("select") + UNIT_OPTIONS


rule record:
    input:
        lambda wildcards: BENCH.record_inputs(wildcards.suite, wildcards.run_key),
    output:
        f"{RESULTS}/records/{{suite}}/{{run_key}}.json",
    log:
        "logs/record/{suite}/{run_key}.log",
    retries: RETRIES
    group:
        lambda wildcards: BENCH.record_group(wildcards.suite, wildcards.run_key)
    envmodules:
        MODULE,
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        results=results_dir,
        suite=lambda wildcards: BENCH.suite_paths[wildcards.suite],
        code=lambda wildcards: BENCH.record_code(),
        label=lambda wildcards: BENCH.record_label(wildcards.suite, wildcards.run_key),
    message:
        "record {params.label}"
    shell:
        job("record")
        + " {wildcards.run_key} --suite {params.suite:q} --results-dir {params.results:q}"
        " --output {output:q} --log {log:q}"
