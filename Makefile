# What a newcomer types and what continuous integration runs. `make demo` and `make test` need only Python 3.11+, a C++
# compiler and a package index: they make their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := pyproject.toml CMakeLists.txt $(shell find src/core -type f) $(shell find src/radiusmargin -name __init__.py)

.PHONY: demo paper test test-core coverage lint types docs docs-quick docs-links test-oldest test-newest sdist wheels wheels-here bench sanitize fuzz table clean

$(STAMP): $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[experiments,export,test,dev]"
	touch $@

# F-SVM learns a transformation (the picture of the paper's Figure 1, demo/figure1.png). Then a table as strangers write them:
# which model to take, that model in a file, and what it says of new rows.
demo: $(STAMP)
	$(BIN)/radiusmargin reproduce figure1 --out demo
	$(BIN)/python examples/customers.py demo
	$(BIN)/radiusmargin compare demo/customers.csv --target left --save demo/model.skops --report demo/report.html
	$(BIN)/radiusmargin predict demo/model.skops demo/new.csv -o demo/predictions.csv

# The tables and figures of the F-SVM paper, ours beside its own, in reproduction/report.html: a quick run, or with
# `make paper QUICK=` the whole, for hours. It ends with exit code 1 where something could not be had, and says what and why.
QUICK ?= --quick
paper: $(STAMP)
	$(BIN)/radiusmargin paper $(QUICK)

# Two processes share the cores, so each has one thread of the BLAS.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

test: $(STAMP)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 tests src

# The numerical pieces of the core in C++, with sanitizers; needs no Python but for CMake, where there is none.
test-core:
	command -v cmake > /dev/null || test -x $(BIN)/cmake || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet cmake; }
	PATH="$$PATH:$(abspath $(BIN))" && cmake -S . -B build/core-tests -DRADIUSMARGIN_TEST_CORE=ON > /dev/null && cmake --build build/core-tests
	build/core-tests/core_tests

# Which lines of the package no test runs; fails below the floor in pyproject.toml.
coverage: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pytest-cov
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered --cov-report=html:build/coverage tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# No error in `solvers`, `estimators` and most rooms; in others no more than .ci/check_types.py allows.
types: $(STAMP)
	$(BIN)/python .ci/check_types.py

# The site, in docs/_build/html: warnings are errors, and nothing is fetched. `docs-quick` does not run the gallery.
DOCS_STAMP := $(VENV)/.docs
SPHINX := $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet
$(DOCS_STAMP): $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

docs: $(DOCS_STAMP)
	$(SPHINX) -b html docs docs/_build/html
	$(BIN)/python .ci/links.py docs/_build/html

docs-quick: $(DOCS_STAMP)
	$(SPHINX) -b html -D plot_gallery=0 -d docs/_build/quick-doctrees docs docs/_build/quick
	$(BIN)/python .ci/links.py docs/_build/quick

# Links to other sites; needs a network.
docs-links: $(DOCS_STAMP)
	$(SPHINX) -b linkcheck -D plot_gallery=0 -d docs/_build/quick-doctrees docs docs/_build/links

# The suite with the oldest versions that pyproject.toml allows, and with the newest that the index has; environments of their own.
test-oldest:
	test -x build/oldest/bin/python || $(PYTHON) -m venv build/oldest
	$(PYTHON) .ci/oldest.py > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check --config-settings=build-dir=build/oldest/cmake --constraint build/oldest/constraints.txt ".[experiments,export,test]"
	$(ONE_THREAD) build/oldest/bin/python -m pytest -n 2 tests

test-newest:
	test -x build/newest/bin/python || $(PYTHON) -m venv build/newest
	build/newest/bin/python -m pip install --quiet --disable-pip-version-check --config-settings=build-dir=build/newest/cmake --upgrade --upgrade-strategy eager ".[experiments,export,test]"
	$(ONE_THREAD) build/newest/bin/python -m pytest -n 2 tests

# What a release consists of: the source, tried in a clean environment, and wheels for the Pythons in pyproject.toml (needs Docker on Linux).
sdist: $(STAMP)
	rm -rf dist build/clean
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --sdist --outdir dist
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet --disable-pip-version-check dist/radiusmargin-*.tar.gz
	cd build/clean && bin/python -I -c "$$SMOKE"

define SMOKE
from sklearn.datasets import load_iris
from radiusmargin import AutoSVM
from radiusmargin import solvers
assert solvers.COMPILED
model = AutoSVM(probability=True).fit(*load_iris(return_X_y=True))
assert model.dual_gap_ < 1e-4
print("installed:", model.predict_proba([[5.1, 3.5, 1.4, 0.2]]).round(2))
endef
export SMOKE

wheels: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check cibuildwheel
	$(BIN)/python -m cibuildwheel --output-dir dist

# The same without containers: a wheel for each interpreter, of this machine alone, tried in a clean environment of its own.
PYTHONS ?= python3.11 python3.12 python3.13
wheels-here: $(PYTHONS:%=build/wheels/%)

build/wheels/%: FORCE
	rm -rf $@
	$* -m venv $@
	$@/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --config-settings=build-dir=$@/cmake --wheel-dir $@/dist .
	$@/bin/python -m pip install --quiet --disable-pip-version-check "$$(echo $@/dist/*.whl)[test]"
	$@/bin/python -I -c "$$SMOKE"
	$@/bin/python -m pytest -n 2 tests/solvers tests/estimators

FORCE:

# The solver tests on a core with address and undefined-behaviour sanitizers, in an installation of its own: the editable
# one steps aside. Leaks are not looked for: the interpreter has its own.
SANITIZED := build/sanitize
ASIDE := import sys, pytest; sys.meta_path = [f for f in sys.meta_path if "Redirect" not in type(f).__name__]
sanitize: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(SANITIZED)/site \
	    --config-settings=build-dir=$(SANITIZED)/cmake --config-settings=cmake.define.RADIUSMARGIN_SANITIZE=ON .
	PYTHONPATH=$(SANITIZED)/site LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	    $(BIN)/python -c '$(ASIDE); sys.exit(pytest.main(sys.argv[1:]))' -k 'not ctrl_c' tests/solvers/test_hinge.py tests/solvers/test_many_features.py tests/solvers/test_kernel.py tests/estimators/test_kernel_map.py tests/solvers/test_problems.py tests/hostile/test_invalid_arrays.py

# Certificates of random problems, recomputed from their definition; mutated model files, opened in a process of its own: an
# error or labels, never a crash; and tables written in many ways: the same numbers or a question. About ten minutes.
MUTANTS ?= 20000
PROBLEMS ?= 10000
VARIANTS ?= 4000
fuzz: $(STAMP)
	$(ONE_THREAD) $(BIN)/python tests/fuzz/written_tables.py --variants $(VARIANTS)
	$(ONE_THREAD) $(BIN)/python tests/fuzz/certificates.py --problems $(PROBLEMS)
	$(ONE_THREAD) $(BIN)/python tests/fuzz/model_files.py --mutants $(MUTANTS)

# Every table of benchmarks/RESULTS.md, one script after the other; about an hour, on an idle machine.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[bench]" || true
	for script in hinge fsvm selection kernels kernel_search competitors chunks text noise regression_solvers; do $(BIN)/python benchmarks/$$script.py || exit 1; done
	$(BIN)/python benchmarks/averaging.py --classes all
	$(BIN)/python benchmarks/averaging.py --kernel rbf

# A table of docs/ by the command of its record, with its caption: make table NAME=table2-paper. Needs RADIUSMARGIN_DATA.
table: $(STAMP)
	$(ONE_THREAD) $(BIN)/python .ci/table.py $(NAME)

clean:
	rm -rf build $(VENV) .pytest_cache .ruff_cache .hypothesis docs/_build docs/_generated docs/gallery docs/api/generated docs/api/examples docs/api/*.rst
