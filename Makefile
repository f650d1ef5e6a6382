# make demo    make a drifting stream of 200,000 rows, test and learn it, write a report: out/report.html
# make test    style, types, import contract and all tests
# make test-full  all tests, with 20 killed runs of 200,000 rows and 2,000 hostile files
# make test-kernels  all tests under four kernels of BLAS, instruction sets and numbers of threads, about 20 minutes
# make pictures  the pictures of the Python examples in out/
# make bench   speed, memory and accuracy at equal time, side by side with rivals: out/bench/, hours; with ARGS=--quick
#              about two minutes (needs FBTWSVM_DATA; ARGS="floor classes" are two parts of it, --resume goes on)
# make reproduce  the paper's tables and figures beside its rivals: out/reproduce/report.html, hours; with ARGS=--quick
#                 minutes (needs FBTWSVM_DATA, or --data in ARGS; ARGS="accuracy --datasets border" is one table of one set)
# make accuracy  every accuracy in the README and the docs, about an hour (needs FBTWSVM_DATA)
# make command   memory, generators and ONNX of docs/command.md, about five minutes (needs FBTWSVM_DATA)
# make streams   every figure of docs/streams.md, about two hours (needs FBTWSVM_DATA)
# make golden BASE=COMMIT  whether 95 small models have the same bits as with a commit, about two minutes (with
#                          ARGS="--tolerance 1e-9" a difference up to that is none; ARGS="--only 'stream-*'" is a part)
# make lint    style, types and import contract alone

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-full test-kernels pictures lint bench reproduce accuracy command streams golden format clean

demo: $(READY)
	mkdir -p out
	rm -f out/clouds.fbt
	$(BIN)/fbtwsvm generate rbf --rows 200000 --features 2 --classes 4 --centroids 12 --spread 0.12 --noise 0.03 \
		--drift-speed 0.000004 --drift-every 50000 --seed 7 --output out/clouds.csv
	$(BIN)/fbtwsvm stream out/clouds.csv --target y --decay auto --n-components 100 \
		--model out/clouds.fbt --report out/report.html

test: lint
	$(BIN)/python -m pytest -n auto --quiet

test-full: lint
	FBTWSVM_FULL=1 $(BIN)/python -m pytest -n auto --quiet

test-kernels: $(READY)
	$(BIN)/python tools/test_kernels.py $(ARGS)

pictures: $(READY)
	$(BIN)/python -m examples.pictures

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks.bench $(ARGS)

reproduce: $(READY)
	$(BIN)/python -m benchmarks.reproduce $(ARGS)

accuracy: $(READY)
	$(BIN)/python -m benchmarks.readings
	$(BIN)/python -m benchmarks.nystroem
	$(BIN)/python -m benchmarks.untuned
	$(BIN)/python -m benchmarks.defaults
	$(BIN)/python -m benchmarks.ladder

command: $(READY)
	$(BIN)/python -m benchmarks.command

streams: $(READY)
	$(BIN)/python -m benchmarks.one_pass
	$(BIN)/python -m benchmarks.flat
	$(BIN)/python -m benchmarks.stream_speed
	$(BIN)/python -m benchmarks.streams
	$(BIN)/python -m benchmarks.changes
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.sorted_classes

golden: $(READY)
	$(BIN)/python tools/golden.py against $(ARGS) $(BASE)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] < (3, 14) else 'Python 3.11 to 3.13 is needed, this is ' + sys.version.split()[0])"
	$(PYTHON) -m venv $(VENV)
	PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache
