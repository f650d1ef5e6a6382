# make demo    make a drifting stream of 200,000 rows, test and learn it, write a report: out/report.html
# make test    style, types, import contract and all tests
# make test-full  all tests, with 20 killed runs of 200,000 rows and 2,000 hostile files, and those of the benchmarks
# make test-benchmarks  the tests of benchmarks/
# make test-kernels  all tests under four kernels of BLAS, instruction sets and numbers of threads, about 20 minutes
# make test-gpu  the tests of rows on a GPU, with the interpreter and packages that are there; log in docs/benchmarks/
# make docs    the site in docs/_build/html: every example is run, and a warning is an error
# make bench ARGS="PART ..."  tables and figures of the README and the docs (needs FBTWSVM_DATA): ARGS=--help lists the
#              parts, ARGS="floor classes --repeats 5" runs two of them, ARGS="paper --quick" a group with tiny sizes
# make golden BASE=COMMIT  whether 95 small models have the same bits as with a commit, about two minutes (with
#                          ARGS="--tolerance 1e-9" a difference up to that is none; ARGS="--only 'stream-*'" is a part)
# make lint    style, types and import contract alone

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-full test-benchmarks test-kernels test-gpu docs lint bench golden format clean

demo: $(READY)
	mkdir -p out
	rm -f out/clouds.fbt
	$(BIN)/fbtwsvm generate rbf --rows 200000 --features 2 --classes 4 --centroids 12 --spread 0.12 --noise 0.03 \
		--drift-speed 0.000004 --drift-every 50000 --seed 7 --output out/clouds.csv
	$(BIN)/fbtwsvm stream out/clouds.csv --target y --decay auto --n-components 100 \
		--model out/clouds.fbt --report out/report.html

test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal --quiet

test-full: lint
	FBTWSVM_FULL=1 $(BIN)/python -m pytest -n auto --dist worksteal --quiet tests src benchmarks/tests

test-benchmarks: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal --quiet benchmarks/tests

test-kernels: $(READY)
	$(BIN)/python tools/test_kernels.py $(ARGS)

test-gpu:
	PYTHONPATH=src $(PYTHON) tools/test_gpu.py

docs: $(VENV)/.ready-docs
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going --color -b html docs docs/_build/html

$(VENV)/.ready-docs: $(READY)
	PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

golden: $(READY)
	$(BIN)/python tools/golden.py against $(ARGS) $(BASE)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'Python 3.11 or newer is needed, this is ' + sys.version.split()[0])"
	$(PYTHON) -m venv $(VENV)
	PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) out docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache
