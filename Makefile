# Everything a newcomer, a developer and CI do, from a machine with a C++ compiler and Python and no more.
# `make` alone lists the targets. Python packages (MPI among them) live in .venv, builds in build/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
CORE := build/core
SANITIZE := build/sanitize
SANITIZE_THREADS := build/sanitize-threads
PY := python applications tests tools docs README.md

PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# mpicc, mpiexec, cmake and ninja are the virtual environment's own; MPICH starts its ranks without ssh.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export HYDRA_LAUNCHER := fork
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

CXX_SOURCES := $(shell find core bindings examples include python/bindings python/swath instruments -name '*.cc' -o -name '*.c' -o -name '*.h' 2>/dev/null)
CMAKE_LISTS := CMakeLists.txt $(shell find core bindings examples python/bindings instruments -name CMakeLists.txt 2>/dev/null)
PACKAGE := $(shell find python/swath -type f -not -path '*/__pycache__/*' 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup demo modelled-disk rados-packages rados-test test test-all test-cpp test-py test-py-all sanitize sanitize-threads run-sanitized-threads mpi-io-suites lint lint-py lint-cpp format docs bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

# ---- set-up ----------------------------------------------------------------------------------------------------------

setup: $(VENV)/.ready $(VENV)/.installed  ## .venv with everything in it, Swath built and installed

# The environment with what Swath is built and used with. Without build isolation mpicc comes from the mpich that later
# runs the ranks, and nothing is downloaded twice.
$(VENV)/.base: pyproject.toml $(wildcard tools/*)
	@tools/system-packages.sh $(PYTHON)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/requirements.py demo | $(PIP) install cmake ninja -r /dev/stdin
	@touch $@

# And with what it is developed and tested with, which the demo need not wait for.
$(VENV)/.ready: $(VENV)/.base
	$(BIN)/python tools/requirements.py | $(PIP) install -r /dev/stdin
	@tools/browser.sh $(VENV)
	@touch $@

# The CMake build stays in build/, so that installing again compiles only what changed.
$(VENV)/.installed: $(VENV)/.base $(CXX_SOURCES) $(CMAKE_LISTS) $(PACKAGE)
	$(PIP) install --no-deps --no-build-isolation --config-settings=build-dir=build/{wheel_tag} .
	@touch $@

# ---- using it --------------------------------------------------------------------------------------------------------

demo: $(VENV)/.installed  ## read a real file in every distribution, and see what it costs
	swath demo

bench: setup  ## measure, beside the peers
	python -m swath.bench

docs: setup | build  ## the documentation in build/docs: a warning or a link that leads nowhere is an error
	python -m sphinx -q -E -W --keep-going -d build/doctrees -c docs . build/docs
	@echo "build/docs/index.html"

modelled-disk: $(VENV)/.ready | build  ## the FUSE file system that behaves as a disk or a RAID (docs/modelled-disks.md)
	$(call configure,$(CORE))
	@if cmake --build $(CORE) --target help | grep -q swath-modelled-disk; then \
	  cmake --build $(CORE) --target swath-modelled-disk; \
	else \
	  echo "swath-modelled-disk: NOT BUILT (libfuse 3 is not installed: libfuse3-dev, pkg-config)"; \
	fi

# ---- tests -----------------------------------------------------------------------------------------------------------

test: test-cpp test-py  ## the unit tests, C++ and Python, in minutes

test-all: test-cpp sanitize sanitize-threads test-py-all  ## all tests: also under the sanitizers, also the slow ones

test-py: setup modelled-disk  ## the Python and MPI tests but the slow ones
	pytest -m "not slow" $(PYTEST_ARGS)

test-py-all: setup modelled-disk  ## the Python and MPI tests, the slow ones too
	pytest $(PYTEST_ARGS)

# $(call configure,DIR,OPTIONS): the core and its tests alone; CMake's talk is shown when it fails.
define configure
	@cmake -S . -B $(1) -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON $(2) >$(1).log 2>&1 || { cat $(1).log; exit 1; }
endef

# $(call run_ctest,DIR): GoogleTest may be absent, and then there is no test program.
define run_ctest
	@if test -x $(1)/core/swath_core_tests; then \
	  ctest --test-dir $(1) --output-on-failure -j$(JOBS); \
	else \
	  echo "C++ unit tests: SKIPPED (GoogleTest is not installed: libgtest-dev)"; \
	fi
endef

test-cpp: $(VENV)/.ready | build  ## the C++ unit tests
	$(call configure,$(CORE))
	cmake --build $(CORE)
	$(call run_ctest,$(CORE))

rados-packages:  # what a cluster for tests is made of, where apt-get may install it
	@tools/rados-packages.sh

rados-test: rados-packages setup | build  ## the tests of files in Ceph pools, against a cluster of their own
	$(call configure,$(CORE))
	cmake --build $(CORE)
	tools/rados-test.sh $(CORE) $(PYTEST_ARGS)

mpi-io-suites: setup  ## suites of other projects without and with the MPI-IO drop-in (SUITES="mpi4py romio", SUITE_ARGS=--help)
	python tests/mpi_io/suites $(SUITES) $(SUITE_ARGS)

sanitize: $(VENV)/.ready | build  ## the C++ unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call configure,$(SANITIZE),-DSWATH_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	cmake --build $(SANITIZE)
	$(call run_ctest,$(SANITIZE))

# ThreadSanitizer wants its addresses free, which full randomisation does not leave them; and tests fork.
sanitize-threads: $(VENV)/.ready | build  ## the C++ unit tests of what threads share under ThreadSanitizer
	$(call configure,$(SANITIZE_THREADS),-DSWATH_SANITIZE_THREADS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	cmake --build $(SANITIZE_THREADS)
	TSAN_OPTIONS=die_after_fork=0 setarch -R $(MAKE) --no-print-directory run-sanitized-threads

run-sanitized-threads:
	$(call run_ctest,$(SANITIZE_THREADS))

build:
	@mkdir -p build

# ---- style -----------------------------------------------------------------------------------------------------------

lint: lint-py lint-cpp  ## ruff, mypy, clang-format, clang-tidy: all must be silent

lint-py: $(VENV)/.ready
	ruff check $(PY)
	ruff format --check $(PY)
	mypy

lint-cpp: $(VENV)/.ready | build
	@echo "clang-format" && clang-format --dry-run -Werror $(CXX_SOURCES)
	$(call configure,$(CORE))
	@run-clang-tidy.py -quiet -p $(CORE) -j $(JOBS)

format: $(VENV)/.ready  ## rewrite the sources in the project's style
	ruff check --fix-only --quiet $(PY)
	ruff format $(PY)
	clang-format -i $(CXX_SOURCES)

clean:  ## remove what was built, the virtual environment too
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
