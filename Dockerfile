# docker build -t eigenbench . && docker run --rm -v "$PWD/runs:/runs" eigenbench
FROM debian:bookworm-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libgomp1 python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

COPY . /opt/eigenbench
ENV PATH=/opt/venv/bin:$PATH
RUN python3 -m venv /opt/venv \
    && pip install --no-cache-dir -c /opt/eigenbench/constraints.txt -e '/opt/eigenbench[cluster-generic]'

# Any user may run it: docker run --user "$(id -u):$(id -g)" ...
ENV HOME=/tmp USER=eigenbench
WORKDIR /runs
ENTRYPOINT ["snakemake", "--snakefile", "/opt/eigenbench/Snakefile"]
