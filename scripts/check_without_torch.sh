#!/usr/bin/env bash
# Import and unit-test measures and statistics in an environment without torch: what reads stored results must not need it.
set -euo pipefail
cd "$(dirname "$0")/.."
env=$(mktemp -d)
trap 'rm -rf "$env"' EXIT
"${PYTHON:-python}" -m venv "$env"
pip=("$env/bin/python" -m pip --disable-pip-version-check -q)
"${pip[@]}" install numpy pandas pyarrow scipy scikit-learn matplotlib jinja2 typer rich pooch pyyaml filelock vaderSentiment pytest hypothesis
"${pip[@]}" install --no-deps .
cd "$(mktemp -d)"
"$env/bin/python" - <<'PY'
import sys
import tiltmeter
from tiltmeter import Settings, estimate, load_run  # the doors that need no model
assert "torch" not in sys.modules
PY
"$env/bin/tiltmeter" list measures > /dev/null
"$env/bin/python" -m pytest -q --doctest-modules --pyargs tiltmeter.measures tiltmeter.stats -p no:cacheprovider
