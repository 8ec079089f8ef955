# `make` lists what there is to do. Longer recipes are in scripts/.

SHELL := bash
.DEFAULT_GOAL := help
# Where rustup puts cargo, for shells that were open before it was installed.
export PATH := $(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(PATH)

# Cargo uses all cores by itself, and tests measure time.
.NOTPARALLEL:

STAMPS := target/stamps
SETUP := $(STAMPS)/setup
# files DIRECTORIES: what is written by hand in them, to know when to build again
files = $(shell find $(1) -type f -not -path '*/node_modules/*' -not -path '*/dist/*' \
	-not -path '*/test*/*' -not -path '*/__pycache__/*' -not -path '*/.*' -not -name '*.node' 2>/dev/null)
RUST := $(wildcard Cargo.toml Cargo.lock) $(call files,core)

# Runs a command with a private Redis and a private Redis Cluster.
SERVERS := scripts/with-redis.sh scripts/with-cluster.sh
TALLY := scripts/tally.sh
# The Python extension finds its symbols in the Python that loads it, so a test program of it would
# not link everywhere; the one for browsers does not run here. Their own packages test them.
CARGO_TEST := cargo test --workspace --no-fail-fast --features paddlegate/schema,paddlegate/simulate \
	--exclude paddlegate-python --exclude paddlegate-wasm
TESTS := scripts rust servers python node ruby c wasm simulator shared ojs readme

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / \
		{ printf "%-26s %s\n", ($$1 ~ /-/ ? "    make " : "make ") $$1, $$2 }' Makefile

.PHONY: setup
setup: ## Install what is missing on this machine (says what and why)
	@scripts/setup.sh
	@mkdir -p $(STAMPS) && touch $(SETUP)

$(SETUP): scripts/setup.sh scripts/versions.bash scripts/requirements-dev.txt \
		$(wildcard package-lock.json packages/*/package-lock.json)
	@$(MAKE) --no-print-directory setup

# --- Build ---------------------------------------------------------------------------------------

.PHONY: build build-rust build-python build-node build-ruby build-c build-wasm build-cli build-simulator
build: build-rust build-python build-node build-ruby build-c build-wasm build-cli build-simulator ## Build everything
build-rust: $(SETUP) ## Build the Rust crate
	cargo build --release -p paddlegate
build-python: .venv/.paddlegate ## Build the Python wheel and install it into .venv
build-node: $(STAMPS)/node ## Build the Node addon
build-ruby: build-c ## Build what the Ruby package needs: the C library
build-c: $(SETUP) ## Build the C library and its header
	cargo build --release -p paddlegate-c
build-wasm: $(STAMPS)/wasm ## Build the WebAssembly package
build-cli: $(SETUP) ## Build the command paddlegate
	cargo build --release -p paddlegate-cli
build-simulator: build-wasm ## Build the page of the simulator
	node packages/simulator/build.mjs

.venv/.paddlegate: $(RUST) $(call files,bindings/python packages/python) | $(SETUP)
	scripts/build-python.sh
	@touch $@

$(STAMPS)/node: $(RUST) $(call files,bindings/node packages/node) | $(SETUP)
	cd packages/node && npm run build
	@touch $@

$(STAMPS)/wasm: $(RUST) $(call files,bindings/wasm packages/wasm) scripts/build-wasm.sh | $(SETUP)
	scripts/build-wasm.sh
	@touch $@

# --- Test ----------------------------------------------------------------------------------------

.PHONY: test
test: ## Run the tests of all languages and add them up
	@rm -rf target/tally
	@status=0; \
	$(MAKE) --no-print-directory --keep-going $(TESTS:%=test-%) || status=1; \
	scripts/tally-summary.sh $(TESTS) || status=1; \
	exit $$status

.PHONY: summary
summary:
	@scripts/tally-summary.sh $(TESTS)

.PHONY: $(TESTS:%=test-%)
test-scripts: ## Test the script that counts the tests
	$(TALLY) scripts scripts/tally-test.sh

test-rust: $(SETUP) ## Test the Rust crates
	$(TALLY) rust $(SERVERS) $(CARGO_TEST)

test-servers: $(SETUP) ## Test the Rust crate against Redis 6.2 and Valkey 9
	PADDLEGATE_MUTANTS=8 $(TALLY) servers scripts/with-other-servers.sh $(CARGO_TEST)

test-python: build-python ## Test the Python package
	$(TALLY) python $(SERVERS) .venv/bin/python -m pytest packages/python/tests

test-node: build-node ## Test the Node package
	$(TALLY) node $(SERVERS) node --test $(or $(wildcard packages/node/test/*.test.*js),none)

test-ruby: build-ruby ## Test the Ruby package
	$(TALLY) ruby ruby packages/ruby/test/run.rb

test-c: build-c ## Test the C library
	$(TALLY) c tests/c/run.sh

test-wasm: build-wasm ## Test the WebAssembly package
	$(TALLY) wasm node --test $(or $(wildcard packages/wasm/test/*.test.*js),none)

test-simulator: build ## Test the page of the simulator in Chromium
	$(TALLY) simulator node --test $(or $(wildcard packages/simulator/test/*.test.*js),none)

test-shared: build-python build-node build-ruby ## Test all languages against one Redis
	$(TALLY) shared $(SERVERS) tests/shared/run.sh

test-ojs: build-python ## Test a job server of Open Job Spec whose limits are ours
	$(TALLY) ojs scripts/with-redis.sh tests/ojs/run.sh

test-readme: build ## Run the examples of the README and install each package as a user would
	$(TALLY) readme $(SERVERS) tests/readme/run.sh

# Not a part of `make test`: it never ends by itself.
.PHONY: fuzz
fuzz: $(SETUP) ## Fuzz what reads foreign texts, each reader for a minute
	scripts/fuzz.sh

# --- Look after the code -------------------------------------------------------------------------

.PHONY: lint fmt generate check-generated
lint: $(SETUP) ## Check format, style, types and generated files
	scripts/lint.sh

fmt: $(SETUP) ## Format the code of all languages
	scripts/lint.sh --fix

generate: build-c build-node ## Write the generated files again (C header, Node types)

check-generated: generate ## Fail if a generated file is not what is committed
	scripts/check-generated.sh

# --- Show ----------------------------------------------------------------------------------------

.PHONY: bench demo simulator clean distclean
bench: build ## Measure against the usual clients and print the table
	bench/run.sh

demo: build-python build-node build-ruby ## Ruby, Python and Node workers share a limiter, live
	demo/run.sh

simulator: build-simulator ## Serve the simulator and print its address
	node packages/simulator/serve.mjs

clean: ## Remove what was built
	rm -rf target packages/wasm/dist packages/simulator/dist packages/node/npm/*/*.node .venv/.paddlegate

distclean: clean ## Remove the installed tools too
	rm -rf .venv .tools node_modules packages/*/node_modules
