# PostgreSQL, from Debian: the portal's accounts. It listens on a UNIX socket only, in a volume it
# shares with the portal, and knows who connects from the kernel (peer): there is no password.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends postgresql-15 \
    && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15 \
    && useradd --system --uid 10001 --no-create-home qstorman \
    && install -d -o qstorman /var/lib/qstorman /run/qstorman-database
COPY packaging/docker/postgres-start.sh /usr/local/bin/postgres-start
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin
USER qstorman
ENTRYPOINT ["postgres-start"]
