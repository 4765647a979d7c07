# Larder's commands. `make` alone prints them.

.DEFAULT_GOAL := help
SHELL := /bin/sh
.DELETE_ON_ERROR:

# Without kept bytecode each process would compile the whole of Django anew: 5 seconds a start.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3

VENV := .venv
PY := $(VENV)/bin/python
# The locks are complete and name wheels only, so nothing is resolved or built; bytecode is written when first needed.
INSTALL := $(PY) -m pip install -qq --no-input --disable-pip-version-check --no-compile --no-deps --only-binary :all: --require-hashes

# What reads no .env and no data of this installation: builds, checks and tests.
APART := env -u PORT ENV_FILE= ENVIRONMENT= DATABASE_URL= DATABASE_REPLICA_URL= CACHE_URL= STORAGE_URL= EMAIL_URL= BASE_URL= STATIC_COLLECTED=off DATA_DIR=build/data
PYTEST := $(PY) -m pytest
# Processes of the test runner: two more than cores, because tests wait for the browser and for the database.
PYTEST_WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 2)))
# Each process keeps to its part of the files, so that what a file's tests share is made once, and ends with parts of others.
ARGS ?= -n $(PYTEST_WORKERS) --dist worksteal

.PHONY: help
help: ## Print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- Installing -----------------------------------------------------------------------------------------------------

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Larder needs Python 3.11 or newer; name one with PYTHON=…")'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.made requirements.lock
	$(INSTALL) -r requirements.lock
	@touch $@

$(VENV)/.dev: $(VENV)/.made requirements-dev.lock
	$(INSTALL) -r requirements-dev.lock
	@touch $(VENV)/.runtime $@

STATIC_SOURCES := $(shell find static records documents materials scim -path '*static/*' -type f 2>/dev/null)
staticfiles/staticfiles.json: $(VENV)/.runtime $(STATIC_SOURCES)
	@$(APART) $(PY) manage.py collectstatic --no-input -v 0
	@touch $@

.PHONY: setup
setup: staticfiles/staticfiles.json ## Make .venv from the hashed lock and collect the static files

.PHONY: dev
dev: $(VENV)/.dev ## Make .venv with the development tools as well

# --- Running --------------------------------------------------------------------------------------------------------

# The server and the worker of the background tasks start and end together, however the end comes. What the worker says
# goes to build/worker.log, and how to sign in and call is printed last, when the server answers.
.PHONY: run
run: setup ## Migrate, fill the demo, print how to call it, and serve on 127.0.0.1, port 8000 or PORT=…
	@$(PY) manage.py migrate --no-input -v 0
	@mkdir -p build; umask 077; \
	$(PY) manage.py demo > build/demo.txt || echo 'The demo was not filled; serving what is there.' >&2
	@$(PY) -m gunicorn config.wsgi -c config/gunicorn.py & server=$$!; \
	$(PY) manage.py db_worker --interval 2 >> build/worker.log 2>&1 & worker=$$!; \
	trap 'kill $$server $$worker 2>/dev/null' HUP INT TERM; \
	$(PY) -m config.waiting; cat build/demo.txt; rm -f build/demo.txt; \
	wait $$server; code=$$?; \
	while kill -0 $$server 2>/dev/null; do wait $$server; code=$$?; done; \
	kill $$worker 2>/dev/null; wait $$worker; exit $$code

# --- Testing and checking -------------------------------------------------------------------------------------------

.PHONY: test test-sqlite test-postgresql
test: test-sqlite test-postgresql ## Run the whole suite on SQLite, then on PostgreSQL

test-sqlite: dev ## Run the whole suite on SQLite only
	$(APART) EXPECTED_DATABASE_VENDOR=sqlite $(PYTEST) $(ARGS)

test-postgresql: dev ## Run the whole suite on a throw-away PostgreSQL only
	$(APART) EXPECTED_DATABASE_VENDOR=postgresql $(PY) -m tests.postgres $(PYTEST) $(ARGS)

# Both at once: they wait for most of their time. The first takes a part of the second's, which would last longer.
.PHONY: faults faults-sqlite faults-postgresql faults-connections
faults: dev ## Stop, freeze and kill real servers, databases, caches and workers (10 minutes; see docs/reliability.md)
	@filled=$$(mktemp -d) && trap 'rm -rf "$$filled"' EXIT && FAULTS_FILLED="$$filled" \
		$(MAKE) --no-print-directory --keep-going -j 3 --output-sync=target $(FAULTS)

# Three runs beside each other, each with installations of its own: much of what they do is waiting.
FAULTS := faults-postgresql faults-sqlite faults-connections
BEFORE_THE_DATABASE := $(addprefix tests/faults/test_,connections.py requests.py killed.py following.py)

faults-postgresql faults-sqlite: dev
	$(APART) EXPECTED_DATABASE_VENDOR=sqlite $(PYTEST) --durations=10 tests/faults -k $(@:faults-%=%) \
		$(addprefix --ignore=,$(BEFORE_THE_DATABASE))

faults-connections: dev
	$(APART) EXPECTED_DATABASE_VENDOR=sqlite $(PYTEST) --durations=10 $(BEFORE_THE_DATABASE) -k 'not postgresql'
	$(APART) EXPECTED_DATABASE_VENDOR=postgresql $(PY) -m tests.postgres $(PYTEST) tests/faults/test_following.py

.PHONY: drill
drill: dev ## Try a whole installation on this machine: loss of a server, failover, restore, upgrade, roll-back (minutes)
	$(PY) -m deploy.drill

.PHONY: screenshots
screenshots: dev ## Take the pictures of the user guide anew, from the demo
	$(APART) PICTURES=docs/user-guide $(PYTEST) -q tests/browser/test_pictures.py

.PHONY: lint
lint: dev ## Check style and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

.PHONY: format
format: dev ## Repair what the linter can repair, and format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: types
types: dev ## Check the types
	$(APART) $(PY) -m mypy

.PHONY: imports
imports: dev ## Check which room imports which
	$(VENV)/bin/lint-imports

OPENAPI := $(APART) $(PY) manage.py spectacular --validate --fail-on-warn --file

.PHONY: schema
schema: dev ## Write docs/openapi.yaml from the operation tables
	$(OPENAPI) docs/openapi.yaml

.PHONY: schema-check
schema-check: dev ## Compare docs/openapi.yaml with the operation tables
	@mkdir -p build
	$(OPENAPI) build/openapi.yaml
	@diff -u docs/openapi.yaml build/openapi.yaml || { echo 'docs/openapi.yaml is out of date: run make schema.' >&2; exit 1; }

.PHONY: migrations-check
migrations-check: dev ## Check that no migration is missing, and that new ones can run while the service does
	$(APART) $(PY) manage.py makemigrations --check --dry-run
	$(APART) $(PY) deploy/check_migrations.py

LOCKS := requirements.lock requirements-dev.lock deploy/requirements.lock

.PHONY: locks-check
locks-check: ## Check that the locks name no address to install from
	@! grep -nEi '://|^ *(-i|-f|--(index|extra-index|find-links|trusted-host)[^ ]*) | @ file' $(LOCKS)

# The tool lives in a folder of its own: it is no part of the product.
AUDIT := build/audit/bin/pip-audit

.PHONY: audit
audit: ## Compare the locks with the public data of known vulnerabilities (needs the network)
	@test -x $(AUDIT) || { $(PYTHON) -m venv build/audit && build/audit/bin/python -m pip install -q pip-audit; } || \
		{ echo 'NOTHING WAS CHECKED: pip-audit cannot be installed here.' >&2; exit 2; }
	$(PYTHON) deploy/audit.py $(AUDIT) $(LOCKS)

# No container engine is needed: the files are held against their schemas, and the scripts against shellcheck.
.PHONY: deploy-check
deploy-check: dev ## Check the container file, compose, manifests, scripts, units and alert rules under deploy/
	$(VENV)/bin/hadolint deploy/Containerfile
	$(VENV)/bin/check-jsonschema -q --builtin-schema vendor.compose-spec deploy/compose.yaml
	$(VENV)/bin/kubernetes-validate --strict --quiet deploy/kubernetes/*.yaml
	$(VENV)/bin/shellcheck deploy/*.sh .ci/run
	@if command -v promtool >/dev/null; then promtool test rules deploy/prometheus/alerts_test.yaml; \
	else echo 'promtool is not installed: the alert rules were not checked.'; fi
	@if command -v systemd-analyze >/dev/null; then $(PY) deploy/check_units.py; \
	else echo 'systemd-analyze is not installed: the units were not checked.'; fi

.PHONY: docs
docs: dev ## Build the documentation as a site in build/site/site
	$(PY) -m deploy.site.build build/site

# The linters of the OpenAPI document and what makes and checks a TypeScript client, at locked versions. They need npm and
# the network once; without either, what needs them says so and is left out.
NODE := build/node
NODE_TOOLS := $(NODE)/node_modules/.bin
$(NODE)/.made: tests/node/package.json tests/node/package-lock.json
	@mkdir -p $(NODE) && cp $^ $(NODE)/
	@npm ci --prefix $(NODE) --ignore-scripts --no-audit --no-fund --loglevel=error --fetch-retries=1
	@touch $@

.PHONY: node
node: ## Install the checks that run on Node, where npm is at hand
	@if ! command -v npm >/dev/null; then echo 'npm is not installed: the checks that run on Node are left out.'; \
	else $(MAKE) --no-print-directory $(NODE)/.made || echo 'npm could not install the checks that run on Node: they are left out.'; fi

.PHONY: openapi-lint
openapi-lint: node ## Check the OpenAPI document by spectral and redocly, where npm is at hand
	@if ! test -e $(NODE)/.made; then echo 'docs/openapi.yaml was not checked by spectral and redocly.'; \
	else $(NODE_TOOLS)/spectral lint docs/openapi.yaml --fail-severity=warn && \
		REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(NODE_TOOLS)/redocly lint docs/openapi.yaml; fi

.PHONY: check
check: openapi-lint lint types imports schema-check migrations-check locks-check deploy-check docs ## Everything but the tests: lint, types, imports, schema, migrations, locks, deployment files, documentation

.PHONY: bench
bench: ARGS =
bench: dev ## Measure against a bare server and SQL (minutes; ARGS="--markdown FILE"; see docs/performance.md)
	$(APART) $(PY) -m tests.postgres --durable $(PY) -m bench $(ARGS)

# --- Locking --------------------------------------------------------------------------------------------------------

# The resolver lives in a folder of its own: it is no part of the product.
UV := build/uv/bin/uv
COMPILE := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header -q $(UPGRADE)

.PHONY: lock
lock: ## Compile the locks after a change of pyproject.toml (UPGRADE=--upgrade for newer versions)
	@test -x $(UV) || { $(PYTHON) -m venv build/uv && build/uv/bin/python -m pip install -q uv; }
	$(COMPILE) -o requirements.lock >/dev/null
	$(COMPILE) --all-extras --group dev -c requirements.lock -o requirements-dev.lock >/dev/null
	$(COMPILE) --all-extras -c requirements.lock -o deploy/requirements.lock >/dev/null
