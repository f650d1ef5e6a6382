# make demo    make a drifting stream of 200,000 rows, test and learn it, write a report: out/report.html
# make test    make lint, and all tests
# make test-lowest  all tests with the lowest versions of all dependencies that pyproject.toml allows
# make test-full  all tests, with 20 killed runs of 200,000 rows and 5,000 hostile files, and those of the benchmarks
# make test-benchmarks  the tests of benchmarks/
# make test-kernels  all tests under four kernels of BLAS, instruction sets and numbers of threads, about 20 minutes
# make test-gpu  the tests of rows on a GPU, with the interpreter and packages that are there; log in docs/benchmarks/
# make lint    style, spelling, types, import contract and workflows
# make format  fix the style
# make docs    the site in docs/_build/html: every example is run that needs no GPU or cluster, and a warning is an error
# make picture the picture of the README, docs/_static/stream.png: that of examples/plot_drift.py
# make dist    an sdist and a wheel in dist/, each tried in a bare environment outside the checkout
# make bench ARGS="PART ..."  tables and figures of the README and the docs (needs FBTWSVM_DATA): ARGS=--help lists the
#              parts, ARGS="floor classes --repeats 5" runs two of them, ARGS="paper --quick" a group with tiny sizes
# make golden BASE=COMMIT  whether 95 small models have the same bits as with a commit, about two minutes (with
#                          ARGS="--tolerance 1e-9" a difference up to that is none; ARGS="--only 'stream-*'" is a part)
# With another Python: make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LOWEST := $(VENV)-lowest
TEST := -m pytest -n auto --dist worksteal --quiet

.PHONY: demo test test-lowest test-full test-benchmarks test-kernels test-gpu lint format docs picture dist bench golden clean

demo: $(READY)
	mkdir -p out
	rm -f out/clouds.fbt
	$(BIN)/fbtwsvm generate rbf --rows 200000 --features 2 --classes 4 --centroids 12 --spread 0.12 --noise 0.03 \
		--drift-speed 0.000004 --drift-every 50000 --seed 7 --output out/clouds.csv
	$(BIN)/fbtwsvm stream out/clouds.csv --target y --decay auto --n-components 100 \
		--model out/clouds.fbt --report out/report.html

test: lint
	$(BIN)/python $(TEST)

# compiled functions have a cache of their own: two versions of numba in one could read half of each other's files
test-lowest: $(LOWEST)/.ready
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/cache $(LOWEST)/bin/python $(TEST)

test-full: lint
	FBTWSVM_FULL=1 $(BIN)/python $(TEST) tests src benchmarks/tests

test-benchmarks: $(READY)
	$(BIN)/python $(TEST) benchmarks/tests

test-kernels: $(READY)
	$(BIN)/python tools/test_kernels.py $(ARGS)

test-gpu:
	PYTHONPATH=src $(PYTHON) tools/test_gpu.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/rumdl check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .github

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/rumdl fmt --quiet .

docs: $(VENV)/.ready-docs
	rm -rf docs/_build docs/gallery docs/api/generated
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going --color -b html -d docs/_build/doctrees docs docs/_build/html

picture: $(READY)
	MPLBACKEND=Agg $(BIN)/python -c \
		"from runpy import run_path; run_path('examples/plot_drift.py')['figure'].savefig('docs/_static/stream.png', dpi=120)"

# each file is installed with its base dependencies alone, and tried in an empty folder
dist: $(READY)
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build --quiet
	for file in dist/*; do \
		bare=$$(mktemp -d) && $(PYTHON) -m venv $$bare && \
		PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $$bare/bin/python -m pip install --quiet $$file && \
		(cd $$bare && bin/python $(CURDIR)/tools/smoke.py --bare) || exit 1; \
		rm -rf $$bare; \
	done

bench: $(READY)
	$(BIN)/python -m benchmarks $(ARGS)

golden: $(READY)
	$(BIN)/python tools/golden.py against $(ARGS) $(BASE)

# $(call environment,FOLDER,CONSTRAINTS,WHAT): a virtual environment with WHAT; groups need a newer pip than some Pythons have
define environment
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'Python 3.11 or newer is needed, this is ' + sys.version.split()[0])"
	$(PYTHON) -m venv $(1)
	PIP_CONSTRAINT=$(2) $(1)/bin/python -m pip install --quiet pip
	PIP_CONSTRAINT=$(2) PIP_BUILD_CONSTRAINT=$(2) $(1)/bin/python -m pip install --quiet --editable . --group $(3)
endef

$(READY): pyproject.toml constraints.txt
	$(call environment,$(VENV),constraints.txt,dev)
	touch $@

$(LOWEST)/.ready: pyproject.toml constraints-lowest.txt
	$(call environment,$(LOWEST),constraints-lowest.txt,test)
	touch $@

$(VENV)/.ready-docs: $(READY)
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) out dist docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache
