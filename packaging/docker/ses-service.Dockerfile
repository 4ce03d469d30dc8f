# The selection service, with the ontology it loads into the knowledge base.
#
# The base image is an argument, so that a site can name its own. pip reads the build secrets `pip`
# (a pip.conf) and `ca` (certificates) where a site needs them; neither stays in an image.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update -q && apt-get install -y -q --no-install-recommends python3 python3-venv \
    gcc g++ python3-dev libldap-dev libsasl2-dev libsimdjson-dev zlib1g-dev
WORKDIR /src
COPY packaging/docker/build.lock ses-service/requirements.lock ./
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip \
    python3 -m venv /opt/qstorman/venv && export PIP_CONFIG_FILE=/run/secrets/pip \
    && /opt/qstorman/venv/bin/pip install -q --no-cache-dir --require-hashes -r requirements.lock \
    && python3 -m venv /opt/build \
    && /opt/build/bin/pip install -q --no-cache-dir --require-hashes -r build.lock
COPY ses-service ses-service
COPY libses/core libses/core
COPY libses/state libses/state
COPY libses/include libses/include
RUN /opt/build/bin/pip wheel -q --no-deps --no-index --no-build-isolation --wheel-dir /wheels \
    ./ses-service ./ses-service/listen ./ses-service/client ./libses/core/python ./libses/state/python \
    && /opt/qstorman/venv/bin/pip install -q --no-deps --no-index /wheels/*.whl

FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends python3 libldap-2.5-0 libsimdjson14 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --home-dir /nonexistent qstorman \
    && install -d -o qstorman /var/lib/qstorman /run/qstorman-secrets /run/qstorman-certificates \
        /run/qstorman-knowledge /run/qstorman-portal /run/qstorman-monitor /run/qstorman-authority
COPY --from=build /opt/qstorman/venv /opt/qstorman/venv
COPY ontology /opt/qstorman/ontology
ENV SES_ONTOLOGY_DIR=/opt/qstorman/ontology
ENV PATH=/opt/qstorman/venv/bin:/usr/bin:/bin
USER qstorman
EXPOSE 8630
ENTRYPOINT ["ses-service"]
