#!/usr/bin/env bash
# Pin every Python package with hashes: requirements.lock for the whole repository, demo.lock for what of it
# runs without tests and plots, and one lock per service for its container image.  The files name no registry.
# Extras stay in the names: without them, old releases of pip look for the newest version of pydantic[email].
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m pip install --quiet uv
compile() {
  .venv/bin/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-package qstorman-client --no-header --no-strip-extras "$@"
}
compile --group pyproject.toml:dev ses-service/pyproject.toml smed-monitor/pyproject.toml \
  webface/pyproject.toml libses/python/pyproject.toml ses-service/listen/pyproject.toml ses-service/client/pyproject.toml libses/{core,state}/python/pyproject.toml benchmarks/simulate/pyproject.toml benchmarks/experiment/pyproject.toml -o requirements.lock
compile --group pyproject.toml:build ses-service/pyproject.toml smed-monitor/pyproject.toml webface/pyproject.toml \
  libses/python/pyproject.toml ses-service/listen/pyproject.toml ses-service/client/pyproject.toml libses/{core,state}/python/pyproject.toml -c requirements.lock -o packaging/demo.lock
for part in ses-service smed-monitor webface; do
  sources=("$part/pyproject.toml" ses-service/listen/pyproject.toml ses-service/client/pyproject.toml)
  [ "$part" != ses-service ] || sources+=(libses/{core,state}/python/pyproject.toml)
  compile "${sources[@]}" --all-extras -c requirements.lock -o "$part/requirements.lock"
done
