# QStorMan: build, demonstrate, check, test, measure.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BUILD  := build

# Our programs start hundreds of times in the tests: what Python compiled is kept.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: demo
demo: install-demo native ## Install what is missing, build, place files of unmodified programs (KEEP=1 leaves it running)
	$(BIN)/ses demo $(if $(KEEP),--keep) $(OPTIONS)

.PHONY: demo-slurm
demo-slurm: install-demo native ## The same with a small Slurm: what three jobs asked for, and what they got
	@packaging/install.sh slurm
	$(BIN)/ses demo --slurm

# Two workers and one for the files that mostly wait: tests/distribution.py.
PYTEST := $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder
QUICK  := command core docs libses lustre ontology packaging simulate streaming

.PHONY: test
test: ready ## Install what is missing and run every check and test but the long ones
	@packaging/check.sh >$(BUILD)/check.log 2>&1 & check=$$!; \
	$(PYTEST) -m "not long"; tested=$$?; \
	wait $$check; checked=$$?; echo "make check:"; cat $(BUILD)/check.log; \
	[ $$tested = 0 ] && [ $$checked = 0 ]

.PHONY: test-long
test-long: ready ## Run the few tests that wait for half a minute or more, which make test leaves out
	@packaging/install.sh long
	$(PYTEST) -m long

.PHONY: test-quick
test-quick: ready ## Run the tests of one process and of small programs: two minutes
	$(PYTEST) -m "not long" $(addprefix tests/,$(QUICK))

# What tests need is installed while the rest is built; what both print comes apart.
.PHONY: ready
ready: packages
	@packaging/install.sh ldap
	@$(MAKE) --no-print-directory -j 3 --output-sync=target native install test-packages

.PHONY: check
check: install-test native ## Lint and types: ruff, mypy, clang-format, warnings as errors
	packaging/check.sh

.PHONY: bench
bench: install-test native ## Measure as ratios; writes build/bench.json
	$(BIN)/python benchmarks/run.py --output $(BUILD)/bench.json

.PHONY: compose-test
compose-test: install-test ## Bring docker-compose.yml up for real, tell one story through it, take it down
	packaging/install.sh compose
	$(BIN)/python packaging/compose_test.py

.PHONY: native
native: packages ## Build libses, the preload library and the agent into build/
	@mkdir -p $(BUILD)
	@cmake -S libses -B $(BUILD)/libses -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O2 -g1 -DNDEBUG' -DCMAKE_INSTALL_PREFIX=/usr/local -DSES_WARNINGS_AS_ERRORS=ON >$(BUILD)/cmake.log 2>&1 \
	  || { cat $(BUILD)/cmake.log; exit 1; }
	@cmake --build $(BUILD)/libses --parallel

.PHONY: pages
pages: install native ## Write the pages of commands, settings and metrics, manual pages and completion from the code
	$(BIN)/python packaging/pages

.PHONY: docs
docs: ## Write the pages of the C and C++ interface to build/docs/html
	packaging/install.sh docs
	doxygen libses/include/Doxyfile

.PHONY: deb
deb: install ## Build Debian packages for compute nodes into build/deb/
	packaging/deb.sh

.PHONY: deb-test
deb-test: install ## Test the packages of build/deb/ in a fresh Debian: install, upgrade, remove, purge
	packaging/deb_test.sh

.PHONY: packages
packages:
	@packaging/install.sh run

.PHONY: install
install: packages ## Install the same with the Python packages of tests, linters, plots and experiments
	@packaging/install.sh ldap
	@packaging/install.sh python

.PHONY: install-demo
install-demo: packages ## Install what running needs: Debian packages, and the services in .venv
	@packaging/install.sh demo

.PHONY: test-packages
test-packages: packages
	@packaging/install.sh test

.PHONY: install-test
install-test: install test-packages ## Install what the tests need on top

.PHONY: lock
lock: install ## Pin the newest versions that fit, with hashes
	packaging/lock.sh

.PHONY: fuseki
fuseki: ## Install Apache Jena Fuseki from Maven Central into build/jars/, hash checked
	@packaging/fuseki.sh

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BUILD) $(VENV)
