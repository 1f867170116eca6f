# For people: make help.
.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-clients test-asan test-tsan sim sim-mutants fuzz bench soak endurance format lint docs dist deb install clean

PREFIX ?= /usr/local
BENCH ?= all
JOBS ?= $(shell nproc)
SOURCES = $(shell git ls-files 'src/*.cc' 'src/*.h' 'bench/*.cc' 'bench/*.h' 'tests/*.cc' 'tests/*.h' 'examples/*.cc' \
	'examples/*.h' 'fuzz/*.cc' 'fuzz/*.h' 'deploy/*.cc' 'tools/*.cc')

# $(call compile,PRESET,TARGETS)
compile = cmake --preset $(1) >/dev/null && cmake --build --preset $(1) -j $(JOBS) --target $(2)

help:  ## Show what there is to make
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | awk -F ':.*  ## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup:  ## Install the Debian packages that building takes; the other targets install what they need
	@./tools/setup build

build: setup  ## Build build/bin/drover
	@$(call compile,release,drover)

demo: setup  ## Render a thousand pictures, and show the sheet and the report
	@$(call compile,release,demo)
	@./tools/demo build/bin/drover

test:  ## Build, and run every test but the long ones
	@./tools/setup test
	@$(call compile,release,test_programs)
	@ctest --preset release -j $$(($(JOBS) + 1)) -LE '^clients$$'

test-clients:  ## Tests with clients that are slow, or that come from PyPI
	@./tools/setup test clients
	@$(call compile,release,drover)
	@ctest --preset release -j 2 -L '^clients$$'

test-asan: setup  ## Unit tests under the address and undefined-behaviour sanitizers
	@./tools/setup test
	@$(call compile,asan,unit_tests)
	@ctest --preset asan -L unit

test-tsan: setup  ## Unit tests under the thread sanitizer
	@./tools/setup test
	@$(call compile,tsan,unit_tests)
	@ctest --preset tsan -L unit

sim: setup  ## Simulate lost packets, full disks, stalls, killed machines: many new seeds, or SEED=n again (SEEDS=, HOURS= each)
	@$(call compile,release,simulate)
	@build/bin/simulate $(if $(SEED),--seed $(SEED)) --seeds $(or $(SEEDS),$(if $(SEED),1,1050)) --hours $(or $(HOURS),10)

sim-mutants: setup  ## Inject faults, and show how many seeds it takes to find each
	@$(call compile,release,sim_mutants)
	@build/bin/sim_mutants

fuzz:  ## Fuzz every parser that faces the network, a minute each (FUZZ=one of them, FUZZ_SECONDS=60)
	@./tools/setup fuzz
	@$(call compile,fuzz,fuzzers)
	@./fuzz/run build-fuzz $(or $(FUZZ_SECONDS),60) $(FUZZ)

bench: setup  ## Measure against peers and limits (BENCH=api, aws_batch, containers, hostile, idle_workers, latency, lease_ack, lifecycle, local_run, logs, manifest, planner, restart, runtime, s3, scale_up, schedule, sqs, store, submit)
	@./tools/setup bench
	@$(call compile,release,test_programs)
	@./bench/run $(BENCH)

soak:  ## The long forms of the tests that have one: under an hour on two cores
	@./tools/setup test soak
	@$(call compile,release,test_programs)
	@DROVER_SOAK=1 ctest --preset release -j 1 -L '^soak$$'

endurance:  ## What takes longer than a soak may; for changes to what it tests
	@./tools/setup test clients soak
	@$(call compile,release,test_programs)
	@DROVER_SOAK=1 DROVER_ENDURANCE=1 ctest --preset release -j 1 -L '^endurance$$'

format: setup  ## Format the sources
	@./tools/setup lint
	@clang-format-19 -i $(SOURCES)

lint: build  ## Check format and run clang-tidy
	@./tools/setup lint
	@clang-format-19 --dry-run -Werror $(SOURCES)
	@./tools/tidy build $(JOBS)

docs: setup  ## Update the tables of job fields in docs/ after a change of the table of fields
	@$(call compile,release,job_docs)
	@build/bin/job_docs docs

dist: setup  ## Pack a tarball that runs on any Linux of this architecture, with nothing installed
	@./tools/setup package
	@$(call compile,release,drover drover_launcher)
	@./deploy/dist/pack build

deb: build  ## Make a Debian package, with units for systemd
	@./tools/setup package
	@cmake -E chdir build cpack --config CPackConfig.cmake >/dev/null
	@ls build/package/*.deb

install: build  ## Install drover under PREFIX (default /usr/local)
	@cmake --install build --component Unspecified --prefix $(PREFIX)

clean:  ## Remove everything that was built
	@rm -rf build build-asan build-tsan build-fuzz
