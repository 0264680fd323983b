#!/usr/bin/env bash
# Chapters at full scale within a number of minutes, the most valuable first, each in a process of its own:
#   scripts/full_run.sh MINUTES [CHAPTER ...]
# Their records are packed into runs/full-records.tar.gz; `make outputs SCALE=full` takes them over into results/full.
# DEVICE=cuda|cpu|auto (auto). RUN_PYTHON=python3 runs with the Python you name, as it is, instead of making .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${RUN_PYTHON:-}" ]; then
  "${PYTHON:-python3}" -m tools.env models
  RUN_PYTHON=.venv/bin/python
fi
exec "$RUN_PYTHON" -m tools.full_run --device "${DEVICE:-auto}" "$@"
