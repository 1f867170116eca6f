# For people: make help.
.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-asan test-tsan sim sim-mutants fuzz bench soak format lint dist deb install clean

PREFIX ?= /usr/local
BENCH ?= all
JOBS ?= $(shell nproc)
SOURCES = $(shell git ls-files 'src/*.cc' 'src/*.h' 'bench/*.cc' 'bench/*.h' 'tests/*.cc' 'tests/*.h' 'examples/*.cc' \
	'examples/*.h' 'fuzz/*.cc' 'fuzz/*.h' 'deploy/*.cc')

help:  ## Show what there is to make
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | awk -F ':.*  ## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup:  ## Install the Debian packages that are missing
	@./tools/setup

build: setup  ## Build build/bin/drover
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: build  ## Render a thousand pictures, and show the sheet and the report
	@./tools/demo build/bin/drover

test: build  ## Build, and run every test but the long ones
	@ctest --preset release -j 2

test-asan: setup  ## Unit tests under the address and undefined-behaviour sanitizers
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan --target unit_tests -j $(JOBS)
	@ctest --preset asan -L unit

test-tsan: setup  ## Unit tests under the thread sanitizer
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan --target unit_tests -j $(JOBS)
	@ctest --preset tsan -L unit

sim: setup  ## Simulate lost packets, dead disks, killed machines: many seeds, or SEED=n again (SEEDS=, HOURS= each)
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target simulate -j $(JOBS)
	@build/bin/simulate --seed $(or $(SEED),1) --seeds $(or $(SEEDS),$(if $(SEED),1,1050)) --hours $(or $(HOURS),10)

sim-mutants: setup  ## Plant faults, and show how many seeds it takes to find each
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target sim_mutants -j $(JOBS)
	@build/bin/sim_mutants

fuzz: setup  ## Fuzz every parser that faces the network, a minute each (FUZZ=one of them, FUZZ_SECONDS=60)
	@./tools/setup fuzz
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz --target fuzzers -j $(JOBS)
	@./fuzz/run build-fuzz $(or $(FUZZ_SECONDS),60) $(FUZZ)

bench: build  ## Measure against peers and limits (BENCH=api, containers, hostile, idle_workers, latency, lease_ack, local_run, logs, manifest, restart, schedule, store, submit)
	@./tools/setup bench
	@./bench/run $(BENCH)

soak: build  ## The long tests
	@./tools/setup soak
	@DROVER_SOAK=1 ctest --preset release -j 1

format: setup  ## Format the sources
	@./tools/setup lint
	@clang-format-19 -i $(SOURCES)

lint: build  ## Check format and run clang-tidy
	@./tools/setup lint
	@clang-format-19 --dry-run -Werror $(SOURCES)
	@./tools/tidy build $(JOBS)

dist: build  ## Pack a tarball that runs on any Linux of this architecture, with nothing installed
	@cmake --build --preset release --target drover_launcher -j $(JOBS)
	@./deploy/dist/pack build

deb: build  ## Make a Debian package, with units for systemd
	@cmake -E chdir build cpack --config CPackConfig.cmake >/dev/null
	@ls build/package/*.deb

install: build  ## Install drover under PREFIX (default /usr/local)
	@cmake --install build --component Unspecified --prefix $(PREFIX)

clean:  ## Remove everything that was built
	@rm -rf build build-asan build-tsan build-fuzz
