#!/usr/bin/env bash
# Install what is missing for a group of packaging/debian-packages.txt (run, ldap, slurm, test, long, docs, deb, arm64,
# compose, fuzz).  For "python", and for "demo", the Python environment in .venv as well: for everything, or for what
# runs without tests, plots and experiments.  Does nothing, quickly, when everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."
group=${1:?usage: packaging/install.sh run|ldap|slurm|demo|python|test|long|docs|deb|arm64|compose|fuzz}

missing=()
for package in $(sed -n "s/^$group: *\([^#]*\).*/\1/p" packaging/debian-packages.txt); do
  [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null)" = 'ii ' ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "Missing Debian packages: ${missing[*]}" >&2
    echo "Install them as root:  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  echo "Installing Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  trap 'rm -f "$log"; exit 130' INT TERM
  # A container has no init to start services; on a machine with one, nothing of ours needs them.
  { apt-get update -q && apt-get install -q -y --no-install-recommends "${missing[@]}"; } 2>&1 \
    | tee "$log" | sed -nu 's/^\(Need to get .*\)/  \1/p; s/^\(After this operation.*\)/  \1/p' \
    || { tail -n 30 "$log" >&2; echo "apt-get failed; the whole log is $log" >&2; exit 1; }
  rm -f "$log"
fi

case $group in
  python) lock=requirements.lock; more=(-e benchmarks/simulate -e benchmarks/experiment) ;;
  demo) lock=packaging/demo.lock; more=() ;;
  *) exit 0 ;;
esac

mkdir -p build
sum_of() { cat "$1" ./*/pyproject.toml libses/python/pyproject.toml ses-service/listen/pyproject.toml ses-service/client/pyproject.toml benchmarks/*/pyproject.toml | sha256sum | cut -d' ' -f1; }
lock_sum=$(sum_of "$lock")
installed=$(cat .venv/lock.sha256 2>/dev/null || true)
# All packages are good for the demonstration, too.
if [ ! -x .venv/bin/pip ] || { [ "$installed" != "$lock_sum" ] && [ "$installed" != "$(sum_of requirements.lock)" ]; }; then
  echo "Installing $(grep -c '^[a-z]' "$lock") Python packages into .venv"
  [ -x .venv/bin/pip ] || "${PYTHON:-python3}" -m venv .venv
  .venv/bin/python -m pip install --progress-bar off --no-compile --disable-pip-version-check --require-hashes --no-deps -r "$lock" \
    | sed -nu '/\.metadata/d; s/^ *\(Downloading\|Using cached\) \([^-]*\)-\([^-]*\)-[^ ]* (\(.*\))$/  \2 \3: \4/p'
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation \
    -e ses-service -e smed-monitor -e webface -e libses/python -e ses-service/listen -e ses-service/client "${more[@]}"
  echo "$lock_sum" >.venv/lock.sha256
  rm -f .venv/core.sha256
fi
core_sum=$(cat libses/{core,state}/python/{pyproject.toml,hatch_build.py} libses/core/*.[ch] libses/state/*.{cpp,h} libses/state/python/binding/* libses/include/ses/{core,limits}.h \
  | sha256sum | cut -d' ' -f1)
if [ "$(cat .venv/core.sha256 2>/dev/null)" != "$core_sum" ]; then
  echo "Compiling the decision core and the state of the service for Python"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-index --no-build-isolation \
    -e libses/core/python -e libses/state/python
  echo "$core_sum" >.venv/core.sha256
fi
