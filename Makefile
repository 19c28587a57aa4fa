# Every command that people and machines use. `make` alone lists them.
#
# CARGO_TARGET_DIR   where cargo builds (default: target)
# SEAWORTHY_CACHE    what is slow to make for the real part: etcd, Kubernetes, containerd, the hosts' system; tools
# KEEP_LIBRARIES     `make test` keeps there what cargo builds of other people's crates, and takes it into a new clone

TARGET   := $(or $(CARGO_TARGET_DIR),target)
STEP     := .ci/step
TRIPLE    = $(shell rustc -vV | sed -n 's/^host: //p')
HOST      = $(TARGET)/$(TRIPLE)/production/seaworthy-host
OPERATOR := $(TARGET)/debug/seaworthy-operator
# What cargo says it has built.
BUILT    := $(TARGET)/tests.json
TOOLS    := $(TARGET)/tools
# Programs for other machines: they need nothing of theirs, and say nothing about the folders that they were built in. Cargo names
# the project's own files from its root, so that only those of libraries need another name.
STATIC    = -C target-feature=+crt-static -C strip=symbols --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo
# The runner has to be of the version of the library.
GUNGRAUN  = $(shell sed -n '/^name = "gungraun"$$/{n;s/^version = "\(.*\)"$$/\1/p;}' Cargo.lock)
DENY     := 0.20.2
MDBOOK   := 0.5.4
# Tools that take long to build stay in the cache. They run for seconds, so optimising them costs more than it saves.
CACHED    = $(or $(SEAWORTHY_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/seaworthy)/tools
# The features that change what is compiled; the rest of a crate's features are on by default.
FEATURES := --features seaworthy-api/crd,seaworthy/live
# What is tested without optimisation. Cargo chooses the features of libraries by the packages that are named: steps that name
# the same ones share what is built.
TESTED   := --workspace --exclude seaworthy-scenarios --exclude seaworthy-benches $(FEATURES)

.NOTPARALLEL:
.DEFAULT_GOAL := help

##@ For a newcomer

.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Upgrade 10,000 simulated machines, with crashes and broken hosts
	@.ci/requirements build
	cargo run --release --locked --package seaworthy -- sim run scenarios/scale/upgrade_10k.yaml

.PHONY: install
install: ## Install `seaworthy`, optimised as a whole: a tenth faster, and slower to build
	@.ci/requirements build
	cargo install --locked --profile dist --features live --path simulator/cli

.PHONY: test
test: ## Everything: lints, tidy, unit tests, scenarios, and the real part (root, Linux, Go)
	@.ci/requirements test
	@.ci/all $(TARGET)

##@ While working

.PHONY: check
check: ## The quick local gate: format, lints, documentation, unit tests
	@.ci/requirements check
	@$(MAKE) --no-print-directory lint tidy unit

.PHONY: lint
lint: format lints documentation deny ## Format, lints, documentation, dependencies: everything that needs no test to run

.PHONY: format
format:
	@$(STEP) "format" cargo fmt --all --check

.PHONY: lints
lints:
	@$(STEP) "lints" cargo clippy --locked --workspace --all-targets $(FEATURES) -- -D warnings

.PHONY: documentation
documentation:
	@$(STEP) "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps $(FEATURES)

.PHONY: deny
deny: ## What the programs are made of: licences, sources, banned crates (deny.toml)
	@$(STEP) "cargo-deny $(DENY)" cargo install --locked --quiet --debug cargo-deny --version $(DENY) --root $(CACHED)
	@$(STEP) "dependencies" $(CACHED)/bin/cargo-deny --locked check bans licenses sources

# Without what mdBook has for people who write: it watches files and serves pages.
.PHONY: docs
docs: ## The documentation as a static site: target/docs/index.html
	@.ci/requirements build
	@$(STEP) "mdbook $(MDBOOK)" cargo install --locked --quiet --debug mdbook --version $(MDBOOK) \
		--no-default-features --features search --root $(CACHED)
	@$(STEP) "pages" $(CACHED)/bin/mdbook build docs --dest-dir $(abspath $(TARGET))/docs
	@echo "see $(abspath $(TARGET))/docs/index.html"

.PHONY: unit
unit: ## Unit tests of every crate
	@$(STEP) "unit tests" cargo test --locked --no-fail-fast $(TESTED) --exclude seaworthy-e2e

.PHONY: scenarios
scenarios: ## Every scenario file
	@$(STEP) "scenarios" cargo test --locked --no-fail-fast --release --package seaworthy-scenarios

# Scenarios in which machines become Nodes, are drained, or have components that need one another.
NODE_STORIES = $(shell grep -lE 'nodeIdentity|disruption|requires|dependsOn' \
	scenarios/fast/*.yaml scenarios/incidents/*.yaml scenarios/regressions/*.yaml)
SWARM = cargo run --profile dist --locked --package seaworthy -- sim swarm

.PHONY: swarm
swarm: ## Twenty thousand seeds over all short scenarios, twice; then the stories of Nodes on 1,000 and 10,000 machines
	@.ci/requirements build
	$(SWARM) --seeds 1..20000 scenarios/fast scenarios/incidents scenarios/regressions
	$(SWARM) --seeds 1..20000 --machines 60 scenarios/fast scenarios/incidents scenarios/regressions
	$(SWARM) --seeds 1..5000 --machines 1000 --exact $(NODE_STORIES)
	$(SWARM) --seeds 1..100 --machines 10000 --exact $(NODE_STORIES)

.PHONY: same-as
same-as: ## Whether the work tree behaves as revision BASE did: every request, frame and decision (FULL=1: more seeds)
	@.ci/requirements build
	@.ci/same-as $(or $(BASE),HEAD) $(if $(FULL),full,quick)

PLATFORMS ?= amd64 arm64
COUNT ?= 60
SEED  ?= 1

.PHONY: mutants
mutants: ## Random mutants of the engine, and who finds each: swarm, scenario files, unit tests, nobody (COUNT=60 SEED=1)
	@.ci/requirements build
	cargo run --release --locked --package seaworthy-mutants -- hunt $(COUNT) $(SEED)

.PHONY: tidy
tidy: ## The house rules; prints the longest files and functions
	@$(STEP) "tidy" cargo test --locked $(TESTED) --test tidy

.PHONY: bench
bench: ## Benchmarks of observe, reconcile and the simulated upgrade
	@.ci/requirements build
	cargo bench --locked --package seaworthy-benches --bench observe --bench reconcile --bench simulate

.PHONY: bench-instructions
bench-instructions: ## Instructions per simulated event, fact and decision, counted by valgrind
	@.ci/requirements instructions
	@$(STEP) "gungraun-runner $(GUNGRAUN)" cargo install --locked --quiet gungraun-runner --version $(GUNGRAUN) --root $(TOOLS)
	GUNGRAUN_RUNNER=$(abspath $(TOOLS))/bin/gungraun-runner \
		cargo bench --locked --package seaworthy-benches --bench instructions

.PHONY: bench-swarm
bench-swarm: ## Seeds per CPU-hour on 1,000 machines, each with its fault-free twin
	@.ci/requirements build
	@benches/seeds-per-cpu-hour

.PHONY: bench-scaling
bench-scaling: ## CPU time of a run with 1,000, 10,000 and 100,000 machines, and how it grows
	@.ci/requirements build
	@benches/scaling

.PHONY: crds
crds: ## Write deploy/crds from the types in core/api
	cargo run --locked --package seaworthy-api --features crd --bin crdgen

.PHONY: manifests
manifests: ## Write deploy/operator from the Helm chart in deploy/chart (needs Go, which builds Helm)
	cargo run --quiet --locked --package seaworthy-e2e --bin e2e-manifests

##@ The real part: a real API server, real hosts, real SSH

.PHONY: real
real: image tests parts suites ## Its tests; SUITES="join heal" chooses, TIMES=10 repeats

# Every test program, and the programs that the real part needs beside them: the operator shares with them what is built.
.PHONY: tests
tests:
	@mkdir -p $(TARGET)
	@$(STEP) "test programs" sh -c 'cargo build --locked $(TESTED) --tests --bins --message-format=json-render-diagnostics >$(BUILT)'

.PHONY: parts
parts:
	@$(STEP) "real parts" $(TARGET)/debug/e2e-prepare

.PHONY: suites
suites:
	@$(STEP) "real suites" env $(PROGRAMS) $(TARGET)/debug/e2e-suites --built $(BUILT) --times $(or $(TIMES),1) $(SUITES)

# The farm shares the processor with the operator, so it is built with optimizations as well.
.PHONY: bench-fleet
bench-fleet: host-program ## The operator with 10,000 machines on a real API server: its cost beside the goals (MACHINES=10000)
	@.ci/requirements test
	@$(STEP) "operator" env RUSTFLAGS="$(STATIC)" \
		cargo build --locked --profile production --package seaworthy-operator --target $(TRIPLE)
	@$(STEP) "farm" cargo build --locked --release --package seaworthy-e2e --bins
	env $(PROGRAMS) SEAWORTHY_OPERATOR=$(abspath $(TARGET)/$(TRIPLE))/production/seaworthy-operator \
		$(TARGET)/release/fleet-bench --machines $(or $(MACHINES),10000)

# The allocator writes a profile for each 128 MiB that were allocated. The last one is of the end of the upgrade: an operator without
# work allocates little. `jeprof` comes with the allocator; what a function keeps counts for those that have called it as well.
HEAP = $(abspath $(TARGET))/heap

.PHONY: heap-profile
heap-profile: host-program ## Who keeps the operator's memory after an upgrade of 10,000 machines (MACHINES=10000)
	@.ci/requirements test
	@$(STEP) "operator" cargo build --locked --profile production --package seaworthy-operator --features heap-profile
	@$(STEP) "farm" cargo build --locked --release --package seaworthy-e2e --bins
	rm -rf $(HEAP) && mkdir -p $(HEAP)
	env $(PROGRAMS) SEAWORTHY_OPERATOR=$(abspath $(TARGET))/production/seaworthy-operator \
		_RJEM_MALLOC_CONF=prof:true,lg_prof_interval:27,lg_prof_sample:14,prof_prefix:$(HEAP)/operator \
		$(TARGET)/release/fleet-bench --machines $(or $(MACHINES),10000) --upgrades 1
	perl $$(find $(TARGET)/production/build -path '*tikv-jemalloc-sys*' -name jeprof | head -n 1) --show_bytes --text --cum \
		$(TARGET)/production/seaworthy-operator $$(ls -v $(HEAP)/operator.*.heap | tail -n 1) >$(HEAP)/functions.txt
	@head -n 40 $(HEAP)/functions.txt; echo "see $(HEAP)/functions.txt"

.PHONY: e2e-up
e2e-up: ## Start it to play in; Ctrl-C removes it
	@.ci/requirements test
	@$(MAKE) --no-print-directory programs
	env $(PROGRAMS) cargo run --locked --package seaworthy-e2e --bin e2e-up

# It also leaves the static host program of this machine's platform where the suites look for it.
.PHONY: image
image: ## The operator's image, with its host programs and bill of materials: target/image (PLATFORMS="amd64 arm64")
	@.ci/requirements image $(PLATFORMS)
	@$(STEP) "image" env RUSTFLAGS="$(STATIC)" deploy/image/build $(TARGET) $(PLATFORMS)

.PHONY: programs
programs: host-program operator ## Build the operator and the static host program

.PHONY: host-program
host-program:
	@$(STEP) "static host program" env RUSTFLAGS="$(STATIC)" \
		cargo build --locked --profile production --package seaworthy-host --target $(TRIPLE)

.PHONY: operator
operator:
	@$(STEP) "operator" cargo build --locked --package seaworthy-operator --package seaworthy --features seaworthy/live

PROGRAMS = SEAWORTHY_HOST_PROGRAM=$(abspath $(HOST)) SEAWORTHY_OPERATOR=$(abspath $(OPERATOR)) \
	SEAWORTHY_COMMAND_LINE=$(abspath $(TARGET))/debug/seaworthy \
	SEAWORTHY_IMAGE=$(abspath $(TARGET)/image/image.tar)
