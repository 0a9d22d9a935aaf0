# reprieve: `make help` lists what there is. Every target installs what it needs, once.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILED = native/*/*.c native/*/*.so native/*/*.html schema/*.c schema/*.so schema/*.html
KERNELS := $(wildcard native/*.pxd native/*/*.pyx native/*/*.pxd schema/*.pyx)
PAGE = $(shell find web/app -name node_modules -prune -o -type f -print)

# The tests start Python more than a hundred times, so what is imported is compiled once.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help build web demo test lint types style modules test-unit test-web property test-e2e matrix bench test-multicluster bench-quality fuzz fidelity fidelity-steer alerts stress load crds docs pictures page-pictures lock binaries release clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.installed: requirements/dev.txt
	@command -v $(PYTHON) >/dev/null || { echo "reprieve needs Python 3.11 or newer (PYTHON=...)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "reprieve needs Python 3.11 or newer, $(PYTHON) is older (PYTHON=...)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)/.built: $(VENV)/.installed pyproject.toml $(KERNELS)
	@echo "installing the kernels, compiled"
	@rm -f $(COMPILED)  # a changed .pxd changes the layout that the others were compiled for
	PYTHONWARNINGS=ignore $(BIN)/python -m hack.kernels
	@touch $@

build: $(VENV)/.built ## Make .venv with the command .venv/bin/reprieve, the kernels compiled

# Only targets that need the page or a browser install this, so `build` stays quick.
$(VENV)/.web: $(VENV)/.installed requirements/web.txt requirements/browser.txt web/app/package-lock.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/web.txt -r requirements/browser.txt
	@$(BIN)/python -m hack.page install
	@touch $@

web/static/manifest.json: $(VENV)/.web hack/page.py $(PAGE)
	$(BIN)/python -m hack.page

web: web/static/manifest.json ## Build the page of `reprieve page` into web/static

RELEASE_URL ?= https://registry.example/reprieve

release: build ## Fill dist/ with a release of this commit, and use each piece of it (RELEASE_URL=...: the folder from which people will download it)
	@$(BIN)/python -m hack.release --url "$(RELEASE_URL)"

demo: build ## Plan for an example cluster, then preempt on a real control plane (REPRIEVE_DEMO=offline: only the first)
	@$(BIN)/python -m hack.demo

binaries: build ## Build etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubectl, KWOK and helm into the cache (VERSIONS="1.35 1.36": the servers of these)
	@$(BIN)/python -m hack.controlplane.binaries $(VERSIONS)

lint: build $(VENV)/.web ## Formatting, types, Cython, TypeScript, the direction of imports, and checks of our own
	@$(MAKE) --no-print-directory --jobs=2 types style

types: # mypy takes as long as all other checks together
	$(BIN)/python -m hack.typecheck

style:
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint native schema
	PYTHONPATH=. $(BIN)/lint-imports
	$(BIN)/python -m hack.lint
	$(BIN)/python -m hack.page check

modules: # pytest compiles each module of tests once. Otherwise each of its processes does. What is wrong is said later.
	@$(BIN)/pytest --collect-only --quiet >/dev/null || true

# Each process takes the next file, in the order of collection: tests of one file share what they start. Files that share
# a control plane are taken together (tests/e2e/order.py).
PROCESSES ?= 3
PARALLEL = --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder

test-unit: build ## Everything that needs no control plane
	$(BIN)/pytest $(PARALLEL) -m "not e2e"

test-web: build web ## All tests of the page in a Chromium (REPRIEVE_BROWSER=FILE), and those of its sources
	REPRIEVE_ALL_SCENARIOS=1 $(BIN)/pytest tests/web

EXAMPLES ?= 1

property: build ## The property tests with all of their random examples (EXAMPLES=1)
	REPRIEVE_EXAMPLES=$(EXAMPLES) $(BIN)/pytest $(PARALLEL) tests/property tests/fuzz
	REPRIEVE_EXAMPLES=$(EXAMPLES) $(BIN)/pytest $(PARALLEL) -m hypothesis tests/unit

# Only a KUBECONFIG that was given to make: one that is in the environment may be anybody's production.
test-e2e: build ## All tests on a control plane of their own, or on the cluster of KUBECONFIG=... (`make test` leaves the longest ones out)
	$(if $(filter command,$(firstword $(origin KUBECONFIG))),REPRIEVE_E2E_KUBECONFIG="$(abspath $(KUBECONFIG))") REPRIEVE_ALL_SCENARIOS=1 $(BIN)/pytest $(PARALLEL) -m e2e

MATRIX_MINUTES ?= 60

matrix: build ## Live tests on each version of Kubernetes and set of feature gates, for an hour at most (VERSIONS="1.35 next": only on these; MATRIX_MINUTES=60)
	@$(BIN)/python -m hack.matrix $(addprefix --option=,$(PARALLEL)) --minutes $(MATRIX_MINUTES) $(VERSIONS)

# Programs in Go collect garbage when they have grown tenfold, or have 500 MB: that is a tenth of the CPU time of a start
# of a control plane. What is built before the tests needs more memory.
LIVE := GOGC=1000 GOMEMLIMIT=500MiB

test: build web binaries ## All checks and all tests
	@$(MAKE) --no-print-directory --jobs=2 types style modules
	$(LIVE) $(BIN)/pytest $(PARALLEL)

MULTICLUSTER_HISTORIES ?= 200
MULTICLUSTER_SEED ?= 0
MULTICLUSTER_MUTATIONS ?= 1

# Two processes, each with a trio of control planes: the tests mostly wait.
test-multicluster: build binaries ## A manager and two workers: random histories with faults, and a manager that dies between all of its writes; then histories of code that is broken on purpose (MULTICLUSTER_HISTORIES=200, MULTICLUSTER_SEED=0, MULTICLUSTER_MUTATIONS=1)
	REPRIEVE_HISTORIES=$(MULTICLUSTER_HISTORIES) REPRIEVE_SEED=$(MULTICLUSTER_SEED) REPRIEVE_ALL_SCENARIOS=1 $(BIN)/pytest --numprocesses 2 tests/multicluster
	@$(if $(filter-out 0,$(MULTICLUSTER_MUTATIONS)),$(BIN)/python -m tests.multicluster.mutations --seed $(MULTICLUSTER_SEED))

FUZZ_SECONDS ?= 600

fuzz: build ## Fuzz quantities, durations and the review decoder, all at once (FUZZ_SECONDS=600)
	@$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

FIDELITY_VERDICTS ?= 3000000
FIDELITY_OBJECTS ?= 3000
FIDELITY_SEED ?= 0

fidelity: build ## Compare our filters with kube-scheduler's own ones on random clusters, shrink what differs, our defaults with an API server's, and budgets with the disruption controller's (FIDELITY_VERDICTS=3000000, FIDELITY_OBJECTS=3000, FIDELITY_SEED=0)
	@$(BIN)/python -m hack.fidelity --verdicts $(FIDELITY_VERDICTS) --objects $(FIDELITY_OBJECTS) --seed $(FIDELITY_SEED)

STEER_WORLDS ?= 300
STEER_SEED ?= 0

fidelity-steer: build binaries ## Compare whom kube-scheduler evicts for its own gangs with our plans, in random clusters on a real control plane with GenericWorkload on, and shrink what differs (STEER_WORLDS=300, STEER_SEED=0)
	@$(BIN)/python -m hack.fidelity.steered --worlds $(STEER_WORLDS) --seed $(STEER_SEED)

alerts: build ## Ask Prometheus' own promtool when the alerts fire, and when not
	@$(BIN)/python -m hack.alerts

STRESS_SECONDS ?= 600
STRESS_HISTORIES ?= 10
STRESS_NATIVE ?= Steer Drive
STRESS_NATIVE_SECONDS ?= 600
STRESS_ACCOUNTS ?= 10
STRESS_CANARY_SECONDS ?= 300
STRESS_MUTATIONS ?= 1
STRESS_QUOTA_RUNS ?= 300
STRESS_JOBS ?= 100
STRESS_GANGS ?= 100
STRESS_ORDERS ?= 50
STRESS_LEADERS ?= 1

stress: build binaries ## Random load on a real control plane, judged by watch and audit log; then short histories with two processes and faults; then random load with groups of kube-scheduler's own kind; then short histories beside an observer whose account is judged, without and with such groups, and with more faults; then random load of which one namespace is enforced; then the same for code that is broken on purpose; then queues: short runs with faults, the same with Jobs, and with Jobs and gangs, random orders, leaders that go (STRESS_SECONDS=600, STRESS_HISTORIES=10, STRESS_NATIVE="Steer Drive", STRESS_NATIVE_SECONDS=600, STRESS_ACCOUNTS=10, STRESS_CANARY_SECONDS=300, STRESS_MUTATIONS=1, STRESS_QUOTA_RUNS=300, STRESS_JOBS=100, STRESS_GANGS=100, STRESS_ORDERS=50, STRESS_LEADERS=1, STRESS_SEED=...)
	@$(BIN)/python -m tests.e2e.stress --seconds $(STRESS_SECONDS) $(if $(STRESS_SEED),--seed $(STRESS_SEED))
	@$(if $(filter-out 0,$(STRESS_HISTORIES)),$(BIN)/python -m tests.e2e.stress --histories $(STRESS_HISTORIES) --seconds 30 $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@set -e; $(foreach mode,$(STRESS_NATIVE),$(BIN)/python -m tests.e2e.stress --native $(mode) --seconds $(STRESS_NATIVE_SECONDS) $(if $(STRESS_SEED),--seed $(STRESS_SEED));)
	@$(if $(filter-out 0,$(STRESS_ACCOUNTS)),$(BIN)/python -m tests.e2e.stress --observe --histories $(STRESS_ACCOUNTS) --seconds 45 $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_ACCOUNTS)),$(BIN)/python -m tests.e2e.stress --observe --native Steer --histories $(STRESS_ACCOUNTS) --seconds 45 $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_ACCOUNTS)),$(BIN)/python -m tests.e2e.stress --observe --faults-often --histories 2 --seconds 45 $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_CANARY_SECONDS)),$(BIN)/python -m tests.e2e.stress --canary --seconds $(STRESS_CANARY_SECONDS) $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_MUTATIONS)),$(BIN)/python -m tests.e2e.stress.mutations $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_MUTATIONS)),$(BIN)/python -m tests.e2e.quota_mutations $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_QUOTA_RUNS)),$(BIN)/python -m tests.e2e.stress_quota --runs $(STRESS_QUOTA_RUNS) --seconds 10 $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_JOBS)),$(BIN)/python -m tests.e2e.stress_quota --jobs --runs $(STRESS_JOBS) --seconds 10 $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_GANGS)),$(BIN)/python -m tests.e2e.stress_quota --gangs --runs $(STRESS_GANGS) --seconds 15 $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_ORDERS)),$(BIN)/python -m tests.e2e.stress_quota --orders $(STRESS_ORDERS) $(if $(STRESS_SEED),--seed $(STRESS_SEED)))
	@$(if $(filter-out 0,$(STRESS_LEADERS)),$(BIN)/python -m tests.e2e.stress_quota --leaders $(STRESS_LEADERS))

bench: build ## Measure: decisions, the mirror, the quota search, the queues of Workloads, quota on a real API server (SIZE=15000 Workloads), the webhooks, the verbs, who confirms members, gang preemption of kube-scheduler beside ours, and what happens when the leader goes
	@$(BIN)/python -m bench

bench-quality: build ## Measure how good the victims are, beside the best score that is known (bench/clusters)
	@$(BIN)/python -m bench.quality

# On a cluster with KWOK and reprieve. An empty size leaves a shape out.
LOAD_WAITING ?= 50,10,20
LOAD_INTERLEAVED ?= 50,10
LOAD_EVICTIONS ?= 5,50

load: build ## Run the shapes of the bench on the cluster of KUBECONFIG=... (LOAD_WAITING=NODES,PODS,GANGS, LOAD_INTERLEAVED=NODES,MEMBERS, LOAD_EVICTIONS=PLANS,VICTIMS)
	@test "$(firstword $(origin KUBECONFIG))" = command || { echo "give the cluster to make: make load KUBECONFIG=..." >&2; exit 1; }
	@$(BIN)/python -m bench.on_cluster --kubeconfig "$(abspath $(KUBECONFIG))" --waiting "$(LOAD_WAITING)" --interleaved "$(LOAD_INTERLEAVED)" --evictions "$(LOAD_EVICTIONS)"

crds: build ## Write manifests/crds and manifests/kueue-crds from the structs in api/, the webhook configurations from their table, and from all of these what is constant in charts/
	$(BIN)/python -m api.crds manifests
	$(BIN)/python -m webhooks.registrations manifests
	$(BIN)/python -m hack.charts charts

docs: build ## Write docs/metrics.md from the metrics in the code, and docs/page-api.md and web/app/src/wire.ts from the structs of the page
	$(BIN)/python -m hack.metrics docs/metrics.md
	$(BIN)/python -m hack.page_api docs/page-api.md
	$(BIN)/python -m hack.page_types web/app/src/wire.ts

RECORD ?=

pictures: build ## Draw all pictures of README.md and docs/ from what was recorded (RECORD=1: record it again first, on control planes)
	RECORD=$(RECORD) $(BIN)/python -m hack.pictures
	@$(MAKE) --no-print-directory page-pictures

page-pictures: build web ## Draw the pictures of docs/page.md again whose views have changed (PICTURES="map plan": these in any case)
	$(BIN)/python -m hack.page_pictures $(PICTURES)

lock: $(VENV)/.installed ## Lock the newest versions that the ranges allow
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra uvloop pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra uvloop pyproject.toml requirements/dev.in -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header requirements/web.in -o requirements/web.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --constraints requirements/dev.txt requirements/browser.in -o requirements/browser.txt
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --constraints requirements/dev.txt requirements/release.in -o requirements/release.txt

clean: ## Remove what was built here (the cache of control-plane binaries stays)
	rm -rf $(VENV) build dist *.egg-info $(COMPILED) web/static web/app/node_modules
