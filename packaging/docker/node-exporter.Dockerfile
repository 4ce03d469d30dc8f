# Prometheus' node_exporter, from Debian: what the monitor scrapes on a storage server.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends prometheus-node-exporter curl \
    && rm -rf /var/lib/apt/lists/* && useradd --system --uid 10001 --no-create-home qstorman
USER qstorman
EXPOSE 9100
ENTRYPOINT ["prometheus-node-exporter"]
