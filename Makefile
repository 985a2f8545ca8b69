# What a newcomer types and what continuous integration runs. `make demo` and `make test` need only Python 3.11+, a C++
# compiler and a package index: they make their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := pyproject.toml CMakeLists.txt $(shell find src/core -type f) $(shell find src/radiusmargin -name __init__.py)

.PHONY: demo test lint bench sanitize clean

$(STAMP): $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[experiments,export,test,dev]"
	touch $@

# A table as strangers write them: which model to take, that model in a file, and what it says of new rows.
demo: $(STAMP)
	$(BIN)/python examples/customers.py demo
	$(BIN)/radiusmargin compare demo/customers.csv --target left --save demo/model.skops --report demo/report.html
	$(BIN)/radiusmargin predict demo/model.skops demo/new.csv -o demo/predictions.csv

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 tests src

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The solver tests on a core with address and undefined-behaviour sanitizers, in an installation of its own: the editable
# one steps aside. Leaks are not looked for: the interpreter has its own.
SANITIZED := build/sanitize
ASIDE := import sys, pytest; sys.meta_path = [f for f in sys.meta_path if "Redirect" not in type(f).__name__]
sanitize: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(SANITIZED)/site \
	    --config-settings=build-dir=$(SANITIZED)/cmake --config-settings=cmake.define.RADIUSMARGIN_SANITIZE=ON .
	PYTHONPATH=$(SANITIZED)/site LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	    $(BIN)/python -c '$(ASIDE); sys.exit(pytest.main(sys.argv[1:]))' -k 'not ctrl_c' tests/solvers/test_hinge.py tests/problems

# Every table of benchmarks/RESULTS.md, one script after the other; about an hour, on an idle machine.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[bench]" || true
	for script in hinge fsvm selection text kernels kernel_search competitors accuracy; do $(BIN)/python benchmarks/$$script.py || exit 1; done
	$(BIN)/python benchmarks/accuracy.py --classes all
	$(BIN)/python benchmarks/accuracy.py --kernel rbf

clean:
	rm -rf build $(VENV) .pytest_cache .ruff_cache .hypothesis
