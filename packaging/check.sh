#!/usr/bin/env bash
# Lint and types, every language: stops at the first kind of fault, after showing all of that kind.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin

echo "ruff";         $bin/ruff check --quiet . && $bin/ruff format --quiet --check .
echo "mypy";         $bin/mypy --no-error-summary ses-service/ses_service smed-monitor/smed_monitor \
                       webface/ses_webface libses/python/ses
echo "clang-format"; git ls-files '*.c' '*.h' '*.cc' '*.cpp' '*.hpp' | xargs -r clang-format --dry-run -Werror
echo "warnings";     cmake -S libses -B build/check -G Ninja -DSES_WARNINGS_AS_ERRORS=ON >build/check.log 2>&1 \
                       && cmake --build build/check >>build/check.log 2>&1 \
                       || { grep -E 'warning|error' build/check.log || tail -n 20 build/check.log; exit 1; }
