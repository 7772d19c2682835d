# Each of these does all the set-up it needs. Start with `make demo`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check bench bench-record docs format clean

demo: $(VENV)/.base
	$(BIN)/wherewhat heads --out runs/demo --overwrite
	@echo "open runs/demo/report.html"

test: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/.base
	$(BIN)/python -m benchmarks

# Renews benchmarks/encodings.json, from which `make docs` makes a table.
bench-record: $(VENV)/.base
	$(BIN)/python -m benchmarks encodings --record

docs: $(VENV)/.test
	$(BIN)/python docs/make.py

format: $(VENV)/.check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build src/*.egg-info

# torch first and by its exact version: anything looser pulls gigabytes of GPU packages.
$(VENV)/.base: pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(PIP) torch==2.13.0
	$(PIP) --editable .
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) --editable '.[test]'
	touch $@

$(VENV)/.check: $(VENV)/.base
	$(PIP) --editable '.[check]'
	touch $@
