rule measure:
    input:
        unit_inputs,
    output:
        f"{RESULTS}/measure/{{unit}}.json",
    log:
        "logs/measure/{unit}.log",
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
        "measure {params.label}"
    shell:
        job("measure") + UNIT_OPTIONS
