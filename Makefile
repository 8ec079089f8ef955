# `make` lists what there is to do. Longer recipes are in scripts/.

SHELL := bash
.DEFAULT_GOAL := help
# Where rustup puts cargo, for shells that were open before it was installed; where Go is by its own instructions, or by
# scripts/setup.sh.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH):/usr/local/go/bin:$(CURDIR)/.venv/bin

# Cargo uses all cores by itself. `make test` runs suites that sleep three at a time.
ifndef PADDLEGATE_SIDE_BY_SIDE
.NOTPARALLEL:
endif

# One profile for all that is built here: quick to build, and with the checks of a debug build. What is to be fast is optimized
# across crates and in one unit, which takes long: PADDLEGATE_PROFILE=release, also to test what users get.
export PADDLEGATE_PROFILE ?= $(if $(filter bench,$(MAKECMDGOALS)),release,quick)
ifeq ($(PADDLEGATE_PROFILE),quick)
export CARGO_PROFILE_RELEASE_LTO := off
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS := 16
export CARGO_PROFILE_RELEASE_OPT_LEVEL := 1
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS := true
export CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS := true
endif

# The Python extension finds its symbols in the Python that loads it. maturin says so too.
export PYO3_BUILD_EXTENSION_MODULE := 1

IS_QUICK := $(filter quick,$(PADDLEGATE_PROFILE))

# Tests take a share of what is random, the same at each run. `make soak` and `make steady` take everything, each time anew.
ifeq ($(filter soak steady,$(MAKECMDGOALS))$(PADDLEGATE_SOAK),)
export PADDLEGATE_SEED ?= 1
export PROPTEST_RNG_SEED ?= 1
export PADDLEGATE_MUTANTS ?= 16
endif

STAMPS := target/stamps
# The demo asks for less than everything, unless everything is there.
IS_DEMO := $(if $(filter demo,$(MAKECMDGOALS)),$(if $(wildcard $(STAMPS)/setup),,demo))
SETUP := $(STAMPS)/setup$(if $(IS_DEMO),-demo)
# files DIRECTORIES: what is written by hand in them, to know when to build again
files = $(shell find $(1) -type f -not -path '*/node_modules/*' -not -path '*/dist/*' \
	-not -path '*/test*/*' -not -path '*/__pycache__/*' -not -path '*/.*' -not -name '*.node' 2>/dev/null)
RUST := $(wildcard Cargo.toml Cargo.lock) $(call files,core)

# Runs a command with a private Redis and a private Redis Cluster.
SERVERS := scripts/with-redis.sh scripts/with-cluster.sh
TALLY := scripts/tally.sh
# What Maven downloads, and our jar.
MAVEN_REPOSITORY := $(or $(PADDLEGATE_TOOLS),$(CURDIR)/.tools)/m2
STEP := scripts/step.sh

# All crates and their tests are built by one call with one set of features, so that nothing is compiled twice.
CRATES := $(foreach crate,paddlegate $(addprefix paddlegate-,c node python uniffi cli ojs server),-p $(crate))
FEATURES := --features paddlegate/schema,paddlegate/simulate,paddlegate/redis-rs,paddlegate-c/header
CARGO_TEST := cargo test --release --no-fail-fast $(CRATES) $(FEATURES)
# With other servers only what a server decides, but everything in `make soak`.
SERVER_TESTS := cluster:: faults:: keys:: leases:: twins:: vectors::
OTHER_SERVERS := $(CARGO_TEST) --test it $(if $(PADDLEGATE_SOAK),--test model --test model_together --test script_times,-- --test-threads=6 $(SERVER_TESTS))

# Suites that use all cores run one after the other, then those that mostly sleep run three at a time, the longest first.
BUSY := scripts rust servers
SLEEPY := server readme python kotlin shared timeouts node ruby c simulator go wasm ojs verbs
TESTS := $(BUSY) $(SLEEPY)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / \
		{ printf "%-26s %s\n", ($$1 ~ /-/ ? "    make " : "make ") $$1, $$2 }' Makefile

.PHONY: setup
setup: ## Install what is missing on this machine (says what and why)
	@scripts/setup.sh $(IS_DEMO)
	@mkdir -p $(STAMPS) && touch $(SETUP)

$(SETUP): scripts/setup.sh scripts/versions.bash $(wildcard scripts/requirements-*.txt) \
		$(wildcard package-lock.json packages/*/package-lock.json)
	@$(MAKE) --no-print-directory setup IS_DEMO=$(IS_DEMO) SETUP=$(SETUP)

# --- Build ---------------------------------------------------------------------------------------

# The native libraries and programs, of one call each: for tests everything with the tests, for the demo what it runs, and
# optimized what users get.
NATIVE_SET := $(if $(IS_QUICK),$(if $(IS_DEMO),demo,tests),release)
NATIVE_demo := $(foreach crate,c node python,-p paddlegate-$(crate))
NATIVE_tests := --lib --bins --tests $(CRATES) $(FEATURES)
NATIVE_release := $(foreach crate,c node cli uniffi,-p paddlegate-$(crate))
NATIVE := $(STAMPS)/native-$(NATIVE_SET)

.PHONY: build build-rust build-python build-node build-ruby build-go build-kotlin build-c build-wasm build-cli build-simulator
build: $(NATIVE) build-node build-python build-go build-kotlin build-wasm build-simulator ## Build everything
build-rust: $(NATIVE) ## Build the Rust crate
build-c: $(NATIVE) ## Build the C library and its header
build-cli: $(NATIVE) ## Build the command paddlegate
build-python: .venv/.paddlegate ## Build the Python wheel and install it into .venv
build-node: $(STAMPS)/node ## Build the Node addon
build-ruby: $(NATIVE) ## Build what the Ruby package needs: the C library
build-go: $(NATIVE) ## Compile the Go package with the C library, and the Go programs of the tests
	$(STEP) build-go scripts/build-go.sh
build-kotlin: $(STAMPS)/kotlin ## Build the jar for Kotlin and Java, and the Kotlin programs of the tests
build-wasm: $(STAMPS)/wasm ## Build the WebAssembly package
build-simulator: build-wasm ## Build the page of the simulator
	$(STEP) build-simulator node packages/simulator/build.mjs

$(NATIVE): $(RUST) $(call files,bindings packages/cli packages/ojs packages/server) | $(SETUP)
	$(STEP) build-native cargo build --release $(NATIVE_$(NATIVE_SET))
	@mkdir -p $(STAMPS) && rm -f $(STAMPS)/native-* && touch $@

# maturin and npm pack what is built.
.venv/.paddlegate: $(NATIVE) $(call files,packages/python) scripts/build-python.sh | $(SETUP)
	$(STEP) build-python scripts/build-python.sh $(if $(IS_QUICK),$(NATIVE_$(NATIVE_SET)))
	@touch $@

$(STAMPS)/node: $(NATIVE) $(call files,packages/node) | $(SETUP)
	$(STEP) build-node env PADDLEGATE_BUILT=1 npm --prefix packages/node run build
	@touch $@

$(STAMPS)/kotlin: $(NATIVE) $(call files,packages/kotlin) \
		$(wildcard packages/kotlin/src/test/*/*/* tests/kotlin/* tests/kotlin/src/*) scripts/build-kotlin.sh | $(SETUP)
	$(STEP) build-kotlin scripts/build-kotlin.sh
	@touch $@

$(STAMPS)/wasm: $(RUST) $(call files,bindings/wasm packages/wasm packages/node/lib/shared) \
		scripts/build-wasm.sh scripts/wasm-without-panic-texts.mjs | $(SETUP)
	$(STEP) build-wasm scripts/build-wasm.sh
	@touch $@

# --- Test ----------------------------------------------------------------------------------------

# .ci/run has begun already, and sums up itself.
BEGIN = $(if $(PADDLEGATE_BEGUN),,@rm -rf target/tally target/steps*; mkdir -p target; date +%s%3N >target/began)

.PHONY: test
test: ## Run the tests of all languages and add them up
	$(BEGIN)
	@status=0; \
	$(MAKE) --no-print-directory --keep-going build || status=1; \
	$(MAKE) --no-print-directory --keep-going $(BUSY:%=test-%) || status=1; \
	$(MAKE) --no-print-directory --keep-going --jobs=3 --output-sync=recurse PADDLEGATE_SIDE_BY_SIDE=1 \
		$(SLEEPY:%=test-%) || status=1; \
	$(if $(PADDLEGATE_BEGUN),,scripts/tally-summary.sh $(TESTS) || status=1;) \
	exit $$status

# Long random runs, other servers in full, all mutants, time-outs by the clock, fuzzers: hours, not for each change.
.PHONY: soak
soak: export PADDLEGATE_SOAK := 1
soak: export PADDLEGATE_CASES ?= 20
soak: ## Run the tests that take long, and those that judge time
	$(BEGIN)
	@status=0; \
	$(MAKE) --no-print-directory --keep-going build || status=1; \
	$(MAKE) --no-print-directory --keep-going $(TESTS:%=test-%) test-before test-fuzz || status=1; \
	scripts/tally-summary.sh $(TESTS) before fuzz || status=1; \
	exit $$status

.PHONY: summary
summary:
	@scripts/tally-summary.sh $(TESTS)

.PHONY: $(TESTS:%=test-%) test-before test-fuzz
test-scripts: ## Test the scripts that count the tests
	$(TALLY) scripts scripts/tally-test.sh

test-rust: $(NATIVE) ## Test the Rust crates
	$(TALLY) rust $(SERVERS) $(CARGO_TEST) $(if $(PADDLEGATE_SOAK),&& $(TALLY) rust $(SERVERS) $(CARGO_TEST) --test script_times,-- --test-threads=6)

test-servers: $(NATIVE) ## Test the Rust crate against Redis 6.2 and Valkey 9
	$(TALLY) servers scripts/with-other-servers.sh $(OTHER_SERVERS)

test-python: build-python ## Test the Python package
	$(TALLY) python $(SERVERS) .venv/bin/python -m pytest -n 4 packages/python/tests

test-node: build-node ## Test the Node package
	$(TALLY) node $(SERVERS) node --test --test-concurrency=3 $(or $(wildcard packages/node/test/*.test.*js),none)

test-ruby: build-ruby ## Test the Ruby package
	$(TALLY) ruby ruby packages/ruby/test/run.rb

test-go: build-go ## Test the Go package, with Go's race detector, and its limits in chi, echo and gin
	$(TALLY) go scripts/with-redis.sh bash -euc \
		'go test -C packages/go -v -race -count=1 ./...; go test -C tests/go-servers -v -count=1 ./...'

test-kotlin: build-kotlin ## Test the Kotlin package
	$(TALLY) kotlin scripts/with-redis.sh mvn -B -Dmaven.repo.local=$(MAVEN_REPOSITORY) -f packages/kotlin/pom.xml \
		$(addprefix surefire:test@,default-test spring-boot-3.5 $(if $(PADDLEGATE_SOAK),spring-boot-4.1))

test-c: build-c ## Test the C library
	$(TALLY) c tests/c/run.sh

test-wasm: build-wasm ## Test the WebAssembly package
	$(TALLY) wasm node --test --test-concurrency=3 $(or $(wildcard packages/wasm/test/*.test.*js),none)

test-simulator: build ## Test the page of the simulator in Chromium
	$(TALLY) simulator node --test --test-concurrency=2 $(or $(wildcard packages/simulator/test/*.test.*js),none)

test-shared: build-python build-node build-ruby build-go build-kotlin build-cli ## Test all languages against one Redis
	$(TALLY) shared $(SERVERS) tests/shared/run.sh

test-verbs: build-python build-node build-ruby build-go build-kotlin build-wasm build-cli ## Test that all packages have the same verbs with the same arguments
	$(TALLY) verbs env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 .venv/bin/python -m pytest -p no:cacheprovider tests/verbs

test-server: build-cli build-python build-node build-ruby build-simulator ## Test the server and its pages, on both stores
	$(TALLY) server $(SERVERS) tests/server/run.sh

test-ojs: build-cli build-python ## Test the job server of Open Job Spec
	$(TALLY) ojs scripts/with-redis.sh tests/ojs/run.sh

test-readme: build ## Install each package as a user would and run the code of all pages and examples
	$(TALLY) readme $(SERVERS) tests/readme/run.sh

test-timeouts: build-python build-node build-ruby build-go build-kotlin ## Test in all languages that each call ends, whatever the server does
	$(TALLY) timeouts tests/timeouts/run.sh

test-before: build-python build-cli ## Test processes of an earlier commit beside those of today, as during an update
	$(TALLY) before scripts/with-redis.sh tests/before/run.sh

test-fuzz: $(SETUP) ## Fuzz what reads foreign texts, each reader for a minute
	$(TALLY) fuzz scripts/fuzz.sh

.PHONY: steady
steady: ## Run suites again and again on a busy machine that stalls: make steady SUITES="python node"
	scripts/steady.sh $(or $(SUITES),$(TESTS))

# --- Look after the code -------------------------------------------------------------------------

.PHONY: lint fmt generate check-generated generate-swift
lint: $(SETUP) ## Check format, style, types and generated files
	scripts/lint.sh

fmt: $(SETUP) ## Format the code of all languages
	scripts/lint.sh --fix

generate: build-c build-node ## Write the generated files again (C header, shared types, licences, Kotlin)
	cp packages/node/types.d.ts packages/wasm/types.d.ts
	cp bindings/c/include/paddlegate.h packages/go/paddlegate.h
	scripts/licences.py
	scripts/generate-kotlin.sh $(if $(filter check-generated,$(MAKECMDGOALS)),--if-built)

generate-swift: build-kotlin ## Write a Swift package of the library into target/swift, which is not tested here
	scripts/generate-swift.sh

check-generated: generate ## Fail if a generated file is not what is committed
	scripts/check-generated.sh

# --- Show ----------------------------------------------------------------------------------------

.PHONY: bench demo docs serve simulator clean distclean
bench: build ## Measure against the usual clients and print the table
	bench/run.sh

demo: build-python build-node build-ruby ## Ruby, Python and Node workers share a limiter, live
	demo/run.sh

serve: build-cli build-python build-node build-ruby ## Show the server and its pages with the demo's workers, and print the address
	demo/run.sh serve

docs: ## Build the documentation site into target/docs
	scripts/docs.sh

simulator: build-simulator ## Serve the simulator and print its address
	node packages/simulator/serve.mjs

clean: ## Remove what was built
	rm -rf target packages/wasm/dist packages/simulator/dist packages/node/npm/*/*.node .venv/.paddlegate

distclean: clean ## Remove the installed tools too
	rm -rf .venv .tools node_modules packages/*/node_modules
