# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: run test test-fast test-slow coverage servers fuzz browser lint words types references samples pictures research docs look wheel release clean

run: $(VENV)/.installed
	$(BIN)/tiltmeter run

test: $(VENV)/.installed-dev lint types
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# The inner loop, in less than a minute: all but the modules in tests/heavy_modules.txt.
test-fast: $(VENV)/.installed-dev
	TILTMETER_FAST_TESTS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# What takes minutes more: every page of the documentation, every pair of the real datasets, more kills; and vLLM and
# llama.cpp, where `make servers` has built them.
test-slow: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m slow

# Share of lines that the tests run, by room; fails below 92 % in five of them. Subprocesses count. Some 12 minutes.
coverage: $(VENV)/.installed-dev
	@$(PIP) install -c constraints.txt 'coverage>=7.10'
	$(BIN)/python -m coverage erase
	OMP_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -n 2 --dist loadfile -W ignore::coverage.exceptions.CoverageWarning
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage json -q -o - | $(BIN)/python scripts/coverage_rooms.py

# vLLM's CPU build and llama.cpp for the slow tests, and a small chat model: 4 GB in .servers, some five minutes, once.
servers: $(VENV)/.installed
	$(BIN)/python scripts/real_servers.py $${TILTMETER_SERVERS:-.servers}

# Hostile files, caches, run folders, models, pages, options and kills, counted: make fuzz TRIES=5000 SEED=1
TRIES ?= 2400
SEED ?= 0
fuzz: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz --tries $(TRIES) --seed $(SEED)

# What the tests of the report need and pip does not bring: a browser, and the accessibility checker. Without them they skip.
AXE := 4.14.0
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver; \
	} >/dev/null 2>&1 || echo "No chromium, and it could not be installed: the browser tests will be skipped."
	@test -f .browser/node_modules/axe-core/axe.min.js || { \
	  mkdir -p .browser && npm install --prefix .browser --no-save --no-audit --no-fund axe-core@$(AXE); \
	} >/dev/null 2>&1 || echo "No axe-core, and npm could not install it: the accessibility test will be skipped."

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/plain_words.py
	$(BIN)/codespell

# Counters of plain words: forbidden words, docstring openings, empty names, tests that assert a sentence.
words: $(VENV)/.installed-dev
	$(BIN)/python scripts/plain_words.py --count .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# Pages and tables that are made from the code. The tests fail if a stored one differs.
REFERENCES := api_reference command_page debiasing_page error_page evidence_page faithful_page honesty_page measures_page readme_table result_tables run_folder_page
references: $(VENV)/.installed-dev
	for name in $(REFERENCES); do $(BIN)/python scripts/$$name.py || exit 1; done

# The sample report and audit of the documentation, by the embedded models (two minutes); `make docs` links them if they are there.
samples: $(VENV)/.installed
	$(BIN)/python scripts/sample_pages.py

# Screenshots of the terminal and the report of the default run, as README and docs show them. Needs chromium.
pictures: $(VENV)/.installed-dev
	PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/figures/screenshot.sh

# Numbers, figures and page of a research report from its stored data: make research NAME=calibration-2 STEP=figures
STEP ?= figures
research: $(VENV)/.installed-dev
	PYTHONPATH=src $(BIN)/python research/$(NAME)/analyse.py $(STEP)

# The site, in site/: no fonts, scripts or pictures from elsewhere. A broken link fails it.
docs: $(VENV)/.installed-docs references
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	! grep -rE --include='*.html' '(src|<link [^>]*href)="(https?:)?//' site

# Every page of the built site on a phone and a desktop, light and dark: axe-core, width, and clicks from the first page.
look: $(VENV)/.installed-dev browser
	test -d site || $(MAKE) docs
	$(BIN)/python scripts/check_site.py

# What a package index and a new user would meet: the wheel of a clean checkout, checked, installed and run.
wheel: $(VENV)/.installed
	@$(PIP) install -c constraints.txt setuptools twine 2>/dev/null || echo "No twine, and pip could not install it: its check is skipped."
	$(BIN)/python scripts/check_wheel.py

# Checks that version, changelog and citation agree, then tags: the release checklist is in CONTRIBUTING.md.
release: $(VENV)/.installed
	$(BIN)/python scripts/release.py

# torch first and pinned: left to the resolver it may pull a build with gigabytes of CUDA libraries.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt torch==$$(sed -n 's/^torch==//p' constraints.txt)
	$(PIP) install -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install -c constraints.txt -e '.[dev]'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(PIP) install -c constraints.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build site dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .browser
