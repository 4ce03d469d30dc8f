# Prometheus, from Debian: the history of what the monitor and the service publish.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends prometheus curl \
    && rm -rf /var/lib/apt/lists/* && useradd --system --uid 10001 --no-create-home qstorman \
    && install -d -o qstorman /var/lib/qstorman
COPY packaging/prometheus/prometheus.yml packaging/prometheus/rules.yml /etc/qstorman/
USER qstorman
EXPOSE 9090
ENTRYPOINT ["prometheus"]
