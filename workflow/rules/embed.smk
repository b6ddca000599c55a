rule moments:
    input:
        unit_inputs,
    output:
        f"{RESULTS}/moments/{{unit}}.json",
    log:
        "logs/moments/{unit}.log",
    retries: RETRIES
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
        "moments {params.label}"
    shell:
        job("moments") + UNIT_OPTIONS


rule embed:
    input:
        unit_inputs,
    output:
        f"{RESULTS}/embed/{{unit}}.json",
    log:
        "logs/embed/{unit}.log",
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
        "embed {params.label}"
    shell:
        job("embed") + UNIT_OPTIONS
