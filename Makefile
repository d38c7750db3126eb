# The commands of README.md. Each builds on CMake presets (CMakePresets.json) and can be run by hand as well.
#
#   make setup build run test            prepare the machine; release build; demo; all tests
#   make silero                          fetch a voice detector in TorchScript, and compare it with PyTorch
#   make bench bench-ops                 cost of imports; run time of operators beside PyTorch and JAX
#   make format check check-all          format the sources; quick checks before a commit; every long check
#   make corpora docs fuzz               record cases from PyTorch; generated pages; fuzzers, 60 s each
#
# JOBS=N sets the number of parallel jobs (default 2).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
JOBS ?= 2
FUZZ_SECONDS ?= 60
export CTEST_OUTPUT_ON_FAILURE := 1

sources = $(shell git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.h')

.PHONY: setup build run test silero bench bench-ops format check check-all corpora docs fuzz artifact-check clean

setup:
	tools/setup

build: setup
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

run: build
	tools/demo

# The release build's tests; without the plugin that setup fetches, those that run programs fail rather than skip.
test: build
	ctest --preset release -j $(JOBS)

# A real TorchScript file, which is fetched: three chunks of sound in a row at two rates, and the example examples/speech on two
# sentences that espeak-ng says.
silero: build
	tools/setup --silero
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -R '^(cases\.silero|examples\.speech)'

# Import time and memory; the table goes into the page.
bench: build
	python3 bench/import_bench.py --page docs/performance.md

# Run time of our StableHLO beside PyTorch's and JAX's, operator by operator.
bench-ops: build
	"$$(tools/environment bench)/bin/python" bench/ops_bench.py --page docs/performance.md

format:
	clang-format-14 -i $(sources)

check: setup
	clang-format-14 --dry-run --Werror $(sources)
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset quick -j $(JOBS)

# ---- Long checks: check-all takes every one. .ci/run takes one of CI_CHECKS in turn: those that have been green on a whole
# tree, so that a change is judged by what it broke. A check is entered there by the commit that makes it green.

LONG_CHECKS := check-operators check-artifacts check-plugins check-asan check-tsan check-clang check-coverage check-fuzz
CI_CHECKS := check-operators check-asan check-tsan check-clang check-coverage
.PHONY: $(LONG_CHECKS) list-ci-checks

list-ci-checks:
	@for check in $(CI_CHECKS); do echo $$check; done

check-all: check $(LONG_CHECKS)

# $(call preset_tests,PRESET): build and test one preset.
define preset_tests
	cmake --preset $(1)
	cmake --build --preset $(1) -j $(JOBS)
	ctest --preset $(1) -j $(JOBS)
endef

# All of PyTorch's own samples of its operators, recorded.
check-operators: build
	ctest --preset release -C long -L opinfo -j $(JOBS)

# Every recorded case once more, its program handed to the plugin as a portable artifact.
check-artifacts: build
	ctest --preset release -C long -L artifact -j $(JOBS)

check-asan: setup
	$(call preset_tests,asan)

check-tsan: setup
	$(call preset_tests,tsan)

check-clang: setup
	$(call preset_tests,clang)

# Lines and branches no test reaches, by file: build/coverage/coverage.txt.
check-coverage: setup
	$(call preset_tests,coverage)
	tools/coverage build/coverage >build/coverage/coverage.txt
	tail -n 1 build/coverage/coverage.txt

# Long elementwise loops on two CPU plugins.
check-plugins: build
	tools/setup --all-plugins
	ctest --preset release -C long -L plugins -j $(JOBS)

fuzz: setup
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	for target in build/fuzz/bin/*_fuzz; do \
	  name=$$(basename $$target _fuzz); mkdir -p build/fuzz/found/$$name; \
	  $$target -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/found/ build/fuzz/found/$$name fuzz/corpus/$$name; \
	done

check-fuzz: fuzz

# ---- Python: recording from PyTorch, e.g. `make corpora PARTS="cases opinfo"`. Nothing here is needed to build, to run or to test.

corpora:
	tools/corpora $(PARTS)

# Artifacts of every operation, and of all recorded operators and models, held against jaxlib's reader and its writer.
artifact-check: build
	build/release/bin/stablehlo_test --gtest_filter='Artifact.*'
	ctest --preset release -C long -R '^cases\..*\.unpack$$' -j $(JOBS)
	for folder in build/release/cases/data/*; do build/release/bin/lift $$folder --leave build/release/artifacts || true; done
	"$$(tools/environment bench)/bin/python" tools/artifact/check.py --summary build/release/artifacts
	"$$(tools/environment bench)/bin/python" tools/artifact/foreign.py build/release/bin/torchlift tests/data/artifacts/*.mlirbc

# The pages that are made from tables.
docs: build
	build/release/bin/pages errors >docs/errors.md
	build/release/bin/pages ops tests/ops >docs/ops.md
	build/release/bin/pages facts tests/ops >data/op_facts.tsv

clean:
	rm -rf build
