# The portal.
#
# The base image is an argument, so that a site can name its own. pip reads the build secrets `pip`
# (a pip.conf) and `ca` (certificates) where a site needs them; neither stays in an image.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update -q && apt-get install -y -q --no-install-recommends python3 python3-venv
WORKDIR /src
COPY packaging/docker/build.lock webface/requirements.lock ./
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip \
    python3 -m venv /opt/qstorman/venv && export PIP_CONFIG_FILE=/run/secrets/pip \
    && /opt/qstorman/venv/bin/pip install -q --no-cache-dir --require-hashes -r requirements.lock \
    && python3 -m venv /opt/build \
    && /opt/build/bin/pip install -q --no-cache-dir --require-hashes -r build.lock
COPY webface webface
COPY ses-service/listen ses-service/listen
COPY ses-service/client ses-service/client
RUN /opt/build/bin/pip wheel -q --no-deps --no-index --no-build-isolation --wheel-dir /wheels ./webface ./ses-service/listen ./ses-service/client \
    && /opt/qstorman/venv/bin/pip install -q --no-deps --no-index /wheels/*.whl

FROM ${BASE}
RUN apt-get update -q && apt-get install -y -q --no-install-recommends python3 && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --home-dir /nonexistent qstorman \
    && install -d -o qstorman /var/lib/qstorman /run/qstorman-portal
COPY --from=build /opt/qstorman/venv /opt/qstorman/venv
ENV PATH=/opt/qstorman/venv/bin:/usr/bin:/bin
USER qstorman
EXPOSE 8632
ENTRYPOINT ["ses-webface"]
