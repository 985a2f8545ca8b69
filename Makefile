# What a newcomer types and what continuous integration runs. `make demo` and `make test` need only Python 3.11+, a C++
# compiler and a package index: they make their own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/core/* src/core/*/*) $(shell find src/radiusmargin -name __init__.py)

.PHONY: demo test lint bench clean

$(STAMP): $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[experiments,test,dev]"
	touch $@

demo: $(STAMP)
	$(BIN)/radiusmargin compare

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 tests src

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Every table of benchmarks/RESULTS.md, one script after the other; about an hour, on an idle machine.
bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[bench]" || true
	for script in hinge fsvm selection kernels kernel_search competitors accuracy; do $(BIN)/python benchmarks/$$script.py || exit 1; done
	$(BIN)/python benchmarks/accuracy.py --classes all
	$(BIN)/python benchmarks/accuracy.py --kernel rbf

clean:
	rm -rf build $(VENV) .pytest_cache .ruff_cache .hypothesis
