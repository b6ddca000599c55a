rule measure:
    input:
        unit_inputs,
    output:
        f"{RESULTS}/measure/{{unit}}.json",
    log:
        "logs/measure/{unit}.log",
    retries: RETRIES
    threads: unit_threads
    resources:
        mem_mb=unit_mem_mb,
        runtime=unit_runtime,
        last_attempt=last_attempt,
    params:
        results=results_dir,
        suite=unit_suite,
        code=unit_code,
        label=unit_label,
    message:
        "measure {params.label}"
    shell:
        job("measure") + UNIT_OPTIONS
