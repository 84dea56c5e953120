# One verb per thing a contributor or CI does. `make` alone lists them.
# Set-up is stamped: a stamp newer than what it depends on means nothing is done, offline or not.

SHELL := bash
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin

UV_READY := $(VENV)/.stamp-uv
PACKAGES_READY := $(VENV)/.stamp-packages
PYTHON_READY := $(VENV)/.stamp-elsinore
JARS_READY := .jars/.stamp
AIRFLOW_READY := .airflow/.stamp
TOOLS_READY := .tools/.stamp
AUDIT_READY := .audit/.stamp
DOCS_READY := .docs/.stamp
BYTECODE_READY := $(VENV)/.stamp-bytecode
KERNELS_READY := lib/elsinore/numbers/__pycache__/.stamp

# What runs need; each part by itself, for some wait for a network and some for one core.
SET_UP := $(KERNELS_READY) $(JARS_READY) $(AIRFLOW_READY)

SOURCES = $(wildcard lib jobs dags benchmarks tests docker/jars docker/supply docs/generate)

# Tests of Spark wait half of their time: more processes than the two cores that this is made for
# (all of them took 15:37 by three, 13:49 by four).
PROCESSES := 4

export GX_ANALYTICS_ENABLED := False
# What is compiled of our sources is kept, whatever the caller's habit: dozens of processes need it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: setup ## replay real flights through the whole pipeline and print the top results
	@$(BIN)/elsinore replay

.PHONY: stop
stop: ## end the Spark server that was started on demand
	@if [ -x $(BIN)/elsinore ]; then $(BIN)/elsinore stop; fi

.PHONY: test
test: ## lint, then all tests that are not marked long
	@$(MAKE) -j 3 $(SET_UP) $(TOOLS_READY) $(BYTECODE_READY) lint
	@$(BIN)/python -m pytest -q -n $(PROCESSES)

# Where tests need neither a JVM nor Airflow.
CHECKED := tests/architecture tests/golden tests/property tests/unit lib

.PHONY: check
check: ## lint, and the quick tests that need neither Java nor Airflow; under 3 minutes
	@$(MAKE) -j 2 $(KERNELS_READY) $(TOOLS_READY)
	@$(MAKE) -j 2 --output-sync=target lint quick-tests

.PHONY: quick-tests
quick-tests: $(KERNELS_READY) $(TOOLS_READY)
	@$(BIN)/python -m pytest -q -n 2 -m "not spark and not dags and not e2e and not slow" $(CHECKED)

# Spark's workers, Airflow's tasks and commands that tests start are not measured, nor is compiled
# code: instead, the second run executes kernels as plain Python. One process each: pytest-xdist ends
# its workers before they write what they measured.
COVERED := tests/property tests/unit

.PHONY: coverage
coverage: $(KERNELS_READY) $(TOOLS_READY) ## report the lines that the tests of check run, with kernels as plain Python
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q -p no:xdist -m "not spark and not dags and not e2e and not slow" $(COVERED)
	@NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q -p no:xdist -k worked_out_by_hand tests/golden
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report

# Tests of the core that import no package of the pipeline.
CORE_TESTS := tests/golden tests/property tests/unit/executors tests/unit/files \
    tests/unit/library tests/unit/query tests/unit/reference tests/unit/sharing \
    tests/unit/template tests/unit/test_windows.py
CORE := .venv-core-$(PYTHON)

.PHONY: core
core: $(UV_READY) ## test the core on another Python: make core PYTHON=python3.13
	@$(BIN)/uv venv --quiet --clear --python $(or $(PYTHON),$(error set PYTHON, as in PYTHON=python3.13)) $(CORE)
	@$(BIN)/uv pip install --quiet --python $(CORE)/bin/python --group core-test .
	@$(CORE)/bin/python -m pytest -q -n 2 -m "not slow" $(CORE_TESTS)

.PHONY: wheel
wheel: $(PYTHON_READY) ## build the wheel into dist/ and test it in an empty environment
	@rm -rf dist && $(BIN)/python -m hatchling build -t wheel -d dist
	@ELSINORE_LONG=1 $(BIN)/python -m pytest -q tests/unit/deployment/test_wheel.py

.PHONY: test-long
test-long: test-faults test-topology test-site ## all tests on more cases, 20,000 random pairs, 200 faults, days of trouble, the year of flights, the topology, the site
	@ELSINORE_LONG=1 $(MAKE) test
	@$(BIN)/python -m tests.property --pairs 20000
	@$(BIN)/python -m tests.e2e

.PHONY: test-topology
test-topology: setup $(TOOLS_READY) ## backfills of 48 hours on PostgreSQL, a Spark cluster and the real scheduler
	@ELSINORE_TOPOLOGY=1 $(BIN)/python -m pytest -s tests/topology

.PHONY: test-site
test-site: site ## open each page of the site in Chromium, wide and narrow; needs the package chromium
	@ELSINORE_SITE=1 $(BIN)/python -m pytest -q tests/site

.PHONY: test-faults
test-faults: setup $(TOOLS_READY) ## kills, full disks, lost workers and overlapping runs at POINTS (200) seeded points; days of trouble
	@$(BIN)/python -m tests.faults --points $(or $(POINTS),200)
	@ELSINORE_FAULTS=1 $(BIN)/python -m pytest -q tests/faults/test_store.py
	@$(BIN)/python -m tests.simulation --seeds 20
	@$(BIN)/python -m tests.simulation --first 20 --hours 336

.PHONY: lint
lint: $(PYTHON_READY) ## style, format, types, import rules and prose; changes nothing
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/ruff format --check $(SOURCES)
	@$(BIN)/mypy $(SOURCES)
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tests.prose

.PHONY: format
format: $(PYTHON_READY) ## rewrite the sources into shape
	@$(BIN)/ruff check --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

SITE_CONFIG := mkdocs.yml

.PHONY: site
site: $(PYTHON_READY) $(DOCS_READY) ## build the documentation site into build/site; a broken link fails
	@$(BIN)/python -m docs.generate pages
	@# Not --quiet: it also hides warnings from --strict, and succeeds.
	@NO_MKDOCS_2_WARNING=1 .docs/bin/mkdocs build --strict -f $(SITE_CONFIG) > build/site.log 2>&1 \
	    || { grep -v ^INFO build/site.log >&2; exit 1; }

.PHONY: reference
reference: $(PYTHON_READY) ## write the reference pages that are generated from code
	@$(BIN)/python -m docs.generate reference

.PHONY: docs
docs: site ## build the documentation site, check its links, run every example
	@$(BIN)/python -m pytest -q lib/elsinore docs/generate tests/unit/docs \
	    tests/unit/test_example_pages.py tests/unit/test_language_page.py \
	    tests/unit/test_schema_pages.py tests/unit/test_recipes_page.py \
	    tests/unit/test_limits_and_security_pages.py tests/unit/query/test_grammar_page.py \
	    tests/unit/test_sql_page.py \
	    tests/unit/sharing/test_explain_page.py

.PHONY: bench
bench: setup ## measure every claim on speed and memory; figures go to docs/benchmarks/results.md
	@$(BIN)/elsinore bench --keep

.PHONY: ui
ui: setup ## Airflow with its web page on http://127.0.0.1:8080, until interrupted
	@$(BIN)/python -P -m elsinore.orchestration.airflow_environment docker/airflow/serve

.PHONY: setup
setup: | java ## environment, kernels, jars, Airflow home (the other verbs call it)
	@$(MAKE) -j 3 $(SET_UP)

# The audit has an environment of its own: the lock of the product holds what runs.
LOCKS := requirements-bootstrap.lock requirements.lock tests/tools/requirements.lock \
    docker/supply/audit.lock docs/generate/requirements.lock

.PHONY: audit
audit: $(AUDIT_READY) ## look up all locked packages in PyPI's advisories; fails if it could not
	@$(BIN)/python docker/supply/audit.py .audit/bin/pip-audit $(LOCKS)

.PHONY: sbom
sbom: $(JARS_READY) ## write build/jars.cdx.json, a bill of materials of all jars (CycloneDX)
	@$(BIN)/python docker/supply/sbom.py build/jars.cdx.json .jars \
	    $$($(BIN)/python -c 'from importlib.util import find_spec; \
	        print(find_spec("pyspark").submodule_search_locations[0])')/jars

.PHONY: lock
lock: $(UV_READY) ## resolve the dependencies anew: both locks and the pinned jars
	@$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header requirements-bootstrap.in -o requirements-bootstrap.lock
	@$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --extra pipeline --extra dev --extra deployment pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header tests/tools/requirements.in -o tests/tools/requirements.lock
	@$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header docker/supply/audit.in -o docker/supply/audit.lock
	@$(BIN)/uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header docs/generate/requirements.in -o docs/generate/requirements.lock
	@$(MAKE) $(PACKAGES_READY)
	@$(BIN)/python docker/jars/fetch_jars.py --pin .jars

.PHONY: clean
clean: stop ## remove run-time data (var, .airflow) and caches; keep .venv, .jars and compiled kernels
	@rm -rf var .airflow .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis \
	    build dist spark-warehouse metastore_db derby.log
	@find $(SOURCES) -type d -name __pycache__ ! -path 'lib/elsinore/numbers/*' -prune -exec rm -rf {} +

# ---------------------------------------------------------------- set-up, step by step

.PHONY: java
java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	major=$$("$$java" -version 2>&1 | sed -nE 's/.*version "([0-9]+).*/\1/p' | head -n 1); \
	if [ "$${major:-0}" -lt 17 ]; then \
	    echo "Java 17 is missing: install it (or point JAVA_HOME at it) and call make again." >&2; \
	    exit 1; \
	fi

# The virtual environment with the two tools that requirements.lock needs.
$(UV_READY): requirements-bootstrap.lock
	@is311='import sys; sys.exit(sys.version_info[:2] != (3, 11))'; \
	if ! $(BIN)/python -c "$$is311" 2>/dev/null; then \
	    for python in python3.11 python3 ""; do "$$python" -c "$$is311" 2>/dev/null && break; done; \
	    if [ -z "$$python" ]; then \
	        echo "Python 3.11 is missing: install python3.11 with venv and call make again." >&2; \
	        exit 1; \
	    fi; \
	    echo "setup: virtual environment"; \
	    "$$python" -m venv --clear $(VENV) || exit 1; \
	fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --require-hashes -r requirements-bootstrap.lock
	@touch $@

# Build isolation would fetch an unpinned setuptools; the bootstrap lock has brought a pinned one.
# Whoever imports a module first keeps its bytecode: that of all of them takes 50 s, and most are
# never imported.
$(PACKAGES_READY): requirements.lock $(UV_READY)
	@echo "setup: packages"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-build-isolation \
	    --require-hashes -r requirements.lock
	@touch $@

$(PYTHON_READY): pyproject.toml $(PACKAGES_READY)
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps -e .
	@touch $@

# Programs of tests alone; see tests/tools/requirements.in.
$(TOOLS_READY): tests/tools/requirements.lock $(UV_READY)
	@echo "setup: tools of the tests"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .tools
	@$(BIN)/uv pip install --quiet --python .tools/bin/python --require-hashes -r $<
	@touch $@

$(AUDIT_READY): docker/supply/audit.lock $(UV_READY)
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .audit
	@$(BIN)/uv pip install --quiet --python .audit/bin/python --require-hashes -r $<
	@touch $@

# MkDocs and its theme; see docs/generate/requirements.in.
$(DOCS_READY): docs/generate/requirements.lock $(UV_READY)
	@echo "setup: programs of the documentation site"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .docs
	@$(BIN)/uv pip install --quiet --python .docs/bin/python --require-hashes -r $<
	@touch $@

# What all processes of tests import at once, each of them would compile: 19 s of a processor.
# What cannot be imported is told by the tests themselves.
$(BYTECODE_READY): $(PYTHON_READY)
	@$(BIN)/python -m pytest -q --collect-only > /dev/null 2>&1 || true
	@touch $@

# Compiled now, not in somebody's first run. The stamp lies among them: who removes one removes both.
$(KERNELS_READY): $(wildcard lib/elsinore/numbers/*.py lib/elsinore/executors/*/kernels/*.py) \
    lib/elsinore/executors/kinds.py \
    lib/elsinore/executors/compile_kernels.py $(PACKAGES_READY) | $(PYTHON_READY)
	@echo "setup: kernels"
	@$(BIN)/python -P -m elsinore.executors.compile_kernels
	@touch $@

$(JARS_READY): docker/jars/jars.sha256 docker/jars/ivy.xml | java $(PACKAGES_READY)
	@echo "setup: jars"
	@$(BIN)/python docker/jars/fetch_jars.py .jars
	@touch $@

$(AIRFLOW_READY): $(PYTHON_READY)
	@echo "setup: Airflow home"
	@$(BIN)/python -P -m elsinore.orchestration.airflow_environment
	@mkdir -p $(@D) && touch $@
