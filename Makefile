# All tasks of newcomers, developers and CI. The machine needs only a C++ compiler and Python.
# `make` alone lists the targets. Python packages (MPI among them) live in .venv, builds in build/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTEST_ARGS ?=
DIST ?= dist
# Tests run in as many processes as there are cores: many of them wait for ranks, disks and programs.
PYTEST = tools/run_pytest.sh -q -n $(JOBS) --dist worksteal --durations 50 --durations-min 1

VENV := .venv
BIN := $(VENV)/bin
CORE := build/core
LINT := build/lint
SANITIZE := build/sanitize
SANITIZE_THREADS := build/sanitize-threads
PY := python benchmarks applications examples conftest.py tests tools docs README.md

PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# mpicc, mpiexec, cmake and ninja come from the virtual environment; MPICH starts its ranks without ssh.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export HYDRA_LAUNCHER := fork
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

# With ccache a source is compiled once for all checkouts: paths are relative to the checkout.
export CMAKE_C_COMPILER_LAUNCHER = $(shell command -v ccache)
export CMAKE_CXX_COMPILER_LAUNCHER = $(shell command -v ccache)
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
export CCACHE_SLOPPINESS ?= pch_defines,time_macros,include_file_mtime,include_file_ctime

CXX_SOURCES := $(shell find core bindings examples include python/bindings instruments -name '*.cc' -o -name '*.c' -o -name '*.h' -o -name '*.hpp' 2>/dev/null)
CMAKE_LISTS := CMakeLists.txt $(shell find core bindings examples python/bindings instruments -name CMakeLists.txt 2>/dev/null)
PACKAGE := $(shell find python/swath -type f -not -path '*/__pycache__/*' 2>/dev/null)
BENCHMARKS := $(shell find benchmarks -type f -not -path '*/__pycache__/*' -not -path benchmarks/tests/'*' 2>/dev/null)
C_OF_PROGRAMS := $(filter %.c %.h,$(BENCHMARKS)) $(wildcard applications/*/*.[ch])

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: .FORCE help setup demo bench-packages modelled-disk wheel sdist rados-packages rados-test test test-all test-cpp test-py test-py-slow test-py-all sanitize sanitize-threads run-sanitized-threads build-tests mpi-io-suites lint lint-py lint-cpp stubs format docs bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

# ---- set-up ----------------------------------------------------------------------------------------------------------

setup: $(VENV)/.ready $(VENV)/.installed $(VENV)/.benchmarks  ## .venv with everything in it, Swath built and installed

# The environment with the packages to build and use Swath. Without build isolation mpicc comes from the mpich that
# later runs the ranks, and nothing is downloaded twice.
$(VENV)/.base: pyproject.toml $(wildcard tools/*)
	@tools/system-packages.sh $(PYTHON)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/requirements.py demo | $(PIP) install cmake ninja -r /dev/stdin
	@touch $@

# The packages to develop and test Swath; the demo does not need them.
$(VENV)/.ready: $(VENV)/.base benchmarks/pyproject.toml
	@tools/system-packages.sh $(PYTHON) for-developers
	$(BIN)/python tools/requirements.py | $(PIP) install -r /dev/stdin
	@tools/browser.sh $(VENV)
	@touch $@

# One CMake build for the package and for the C++ tests, which are compiled on demand. It is kept, so
# installing again compiles only the changed sources.
$(VENV)/.installed: $(VENV)/.base $(CXX_SOURCES) $(CMAKE_LISTS) $(PACKAGE) build/system-features.txt
	$(PIP) install --no-deps --no-build-isolation --config-settings=build-dir=$(CORE) \
	  --config-settings=cmake.define.SWATH_BUILD_TESTS=ON --config-settings=cmake.define.CMAKE_EXPORT_COMPILE_COMMANDS=ON \
	  --config-settings=cmake.define.SWATH_BUILD_FORTRAN=$(if $(shell command -v gfortran),ON,OFF) .
	@touch $@

# The benchmarks, a separate package.
$(VENV)/.benchmarks: $(VENV)/.ready $(BENCHMARKS)
	$(PIP) install --no-deps --no-build-isolation ./benchmarks
	@touch $@

# The optional headers and libraries of the system. The file is checked each time, and is newer only after a change:
# then the package is installed again, and CMake searches again for what it did not find.
build/system-features.txt: .FORCE | build
	@tools/system-features.sh >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

.FORCE:

# ---- using it --------------------------------------------------------------------------------------------------------

demo: $(VENV)/.installed  ## read a real file in every distribution, and see what it costs
	swath demo

bench: setup  ## measure, beside the peers
	python -m swath_bench

bench-packages:  ## the libraries that `swath bench simulation` and `smpi` compare with, where apt-get may install them
	@tools/system-packages.sh $(PYTHON) for-benchmarks

docs: setup | build  ## the documentation in build/docs: a warning or a link that leads nowhere is an error
	python -m sphinx -q -E -W --keep-going -d build/doctrees -c docs . build/docs
	@echo "build/docs/index.html"

modelled-disk: $(VENV)/.installed  ## the FUSE file system that behaves as a disk or a RAID (docs/modelled-disks.md)
	@if cmake --build $(CORE) --target help | grep swath-modelled-disk >/dev/null; then \
	  cmake --build $(CORE) --target swath-modelled-disk; \
	else \
	  echo "swath-modelled-disk: NOT BUILT (libfuse 3 is not installed: libfuse3-dev, pkg-config)"; \
	fi

# ---- what is given away ----------------------------------------------------------------------------------------------

wheel: $(VENV)/.ready  ## a wheel in dist that needs no compiler, no MPI and no package of the system (PYTHONS="python3.10 …")
	WHEEL_FOLDER=$(DIST) tools/wheel.sh $(PYTHONS)

sdist: $(VENV)/.ready  ## the sources in dist, to be built by pip
	@mkdir -p $(DIST)
	python -c "from scikit_build_core.build import build_sdist; print(build_sdist('$(DIST)'))"

# ---- tests -----------------------------------------------------------------------------------------------------------

test: test-cpp test-py  ## the unit tests, C++ and Python, in minutes

test-all: test-cpp sanitize sanitize-threads test-py-all  ## all tests: also under the sanitizers, also those of many cases

test-py: setup modelled-disk  ## the Python and MPI tests but the slow ones
	$(PYTEST) -m "not slow and not exhaustive" $(PYTEST_ARGS)

test-py-slow: setup modelled-disk  ## the Python and MPI tests, the slow ones too: those of CI
	$(PYTEST) -m "not exhaustive" $(PYTEST_ARGS)

test-py-all: setup modelled-disk  ## all Python and MPI tests: also those of many cases
	$(PYTEST) $(PYTEST_ARGS)

# $(call configure,DIR,OPTIONS): the core and its tests alone; CMake's output is shown when it fails.
define configure
	@cmake -S . -B $(1) -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON $(2) >$(1).log 2>&1 || { cat $(1).log; exit 1; }
endef

# $(call run_ctest,DIR): without GoogleTest there is no test program.
define run_ctest
	@if test -x $(1)/core/swath_core_tests; then \
	  ctest --test-dir $(1) --output-on-failure -j$(JOBS); \
	else \
	  echo "C++ unit tests: SKIPPED (GoogleTest is not installed: libgtest-dev)"; \
	fi
endef

test-cpp: build-tests  ## the C++ unit tests
	$(call run_ctest,$(CORE))

build-tests: setup
	cmake --build $(CORE) --target swath_tests

rados-packages:  # what a cluster for tests is made of, where apt-get may install it
	@tools/rados-packages.sh

rados-test: rados-packages build-tests  ## the tests of files in Ceph pools, against a cluster of their own
	tools/rados-test.sh $(CORE) $(PYTEST_ARGS)

mpi-io-suites: setup  ## suites of other projects without and with the MPI-IO drop-in (SUITES="mpi4py romio", SUITE_ARGS=--help)
	python tests/programs/mpi_io/suites $(SUITES) $(SUITE_ARGS)

sanitize: $(VENV)/.ready | build  ## the C++ unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call configure,$(SANITIZE),-DSWATH_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	cmake --build $(SANITIZE)
	$(call run_ctest,$(SANITIZE))

# ThreadSanitizer needs free address ranges, which full randomisation may use; and tests fork.
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
	@echo "clang-format" && clang-format --dry-run -Werror $(CXX_SOURCES) $(C_OF_PROGRAMS)
	$(call configure,$(LINT),-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DSWATH_UNITY=OFF)
	@echo "clang-tidy" && python tools/clang_tidy.py $(LINT) $(JOBS)

stubs: $(VENV)/.installed $(VENV)/.ready  ## write the stub of the compiled core, python/swath/_core.pyi, as its bindings say
	python tools/make_stub.py >build/_core.pyi
	cp build/_core.pyi python/swath/_core.pyi

format: $(VENV)/.ready  ## rewrite the sources in the project's style
	ruff check --fix-only --quiet $(PY)
	ruff format $(PY)
	clang-format -i $(CXX_SOURCES) $(C_OF_PROGRAMS)

clean:  ## remove what was built, the virtual environment too
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
	find python benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +
