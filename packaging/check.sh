#!/usr/bin/env bash
# Lint and types, every language: stops at the first kind of fault, after showing all of that kind.
# (The build, which make runs before this, treats C and C++ warnings as errors.)
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin

echo "commits: at most 60 characters, and a body that says why"
git log --since=2026-11-28 --format='%h %s%x09%b%x00' | $bin/python -c "
import sys
commits = [entry.strip('\n').partition('\t') for entry in sys.stdin.read().split('\0')[:-1]]
sys.exit('\n'.join(head for head, _, body in commits if len(head.partition(' ')[2]) > 60 or not body.strip()) or 0)"
echo "ruff"
$bin/ruff check --quiet .
$bin/ruff format --quiet --check .
echo "mypy"
MYPYPATH=benchmarks:packaging:packaging/pages $bin/mypy --no-error-summary ses-service/ses_service smed-monitor/smed_monitor \
  webface/ses_webface libses/python/ses ses-service/listen/ses_listen ses-service/client/ses_client libses/core/python libses/state/python/ses_state benchmarks/simulate/ses_simulate benchmarks/experiment/ses_experiment benchmarks/run.py benchmarks/ses_benchmarks packaging/compose_test.py packaging/pages/__main__.py
echo "clang-format"
git ls-files '*.c' '*.h' '*.cc' '*.cpp' '*.hpp' | xargs clang-format --dry-run -Werror
echo "analyzer; warnings as a Debug build would meet them"
printf '%s\0' libses/core/*.c libses/src/*/*.c libses/api/*.c libses/slurm/*.c libses/segment/*.c libses/system/*.c libses/extras/{net,offload,sampler,sampler/probes,share,share/remote}/*.c libses/extras/offload/postgresql/near_scan.c | xargs -0 -P 2 -I '{}' gcc -std=gnu11 -D_GNU_SOURCE -DSES_VERSION='""' -DSES_SHARE_AGENT_VERSION='""' -DSMED_VERSION='""' -DSES_PRELOAD_PATH='""' -O0 -Wall -Wextra -Werror \
  -fanalyzer -Ilibses/src -Ilibses/api -Ilibses -Ilibses/include -Ilibses/extras/{share,sampler,include} -Ilibses/extras -c '{}' -o /dev/null
echo "targets of the fuzzers, which make test-long alone builds"
ls tests/fuzz/targets/*.cpp | xargs -P 2 -I '{}' g++ -std=c++20 -fsyntax-only -DSES_AGENT_VERSION='""' $(pkg-config --cflags spdlog cpp-httplib) \
  -Ilibses/agent -Ilibses -Ilibses/include -Itests/fuzz/targets '{}'
ls tests/fuzz/targets/*.c | xargs -P 2 -I '{}' gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Ilibses/src -Ilibses/api -Ilibses/slurm -Ilibses \
  -Ilibses/include -Ilibses/extras/{share,offload,include} -Ilibses/extras -Itests/fuzz/targets '{}'
