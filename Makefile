# seal: `make` lists the targets. Works with the make of Linux and of macOS.

# The first of these that runs and is 3.11 to 3.13; `make env PYTHON=...` takes another.
SUPPORTED = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	"$$p" -c '$(SUPPORTED)' 2>/dev/null && { command -v "$$p"; break; }; done)
VENV = .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check -q --no-deps
# Of all modules a third is ever imported, and compiled then; ahead only where what is compiled would not be kept.
COMPILE = $(if $(PYTHONDONTWRITEBYTECODE),--compile,--no-compile)
TORCH = ^(torch|nvidia|cuda|triton)

RUN = runs/demo
METHODS = structured,structured_nce,crf,cross_entropy
# Fewer than the configs have, for time.
EPOCHS = 10

# Of the ready models: a transformer's name on the hub, its folder or `minilm` in place of the BiLSTM, and settings of
# training.
ENCODER =
TRAINING = {}

# No warnings that AllenNLP's own imports raise before any plugin is loaded; seal/allennlp/compat.py hides the others.
DEMO = PYTHONWARNINGS='ignore:`torch.cuda.amp.custom_:FutureWarning:fairscale.experimental.nn.offload, \
	ignore:`torch.jit.script` is deprecated:FutureWarning:torch.jit._script, \
	ignore:pkg_resources is deprecated:UserWarning:rouge.rouge'

.PHONY: help env demo model-srl model-pos test test-all lint docs clean

help:
	@echo 'make env    create $(VENV) with everything that requirements.txt names'
	@echo 'make demo   train small SRL models by four methods, compare them, label two sentences, also by english-srl'
	@echo 'make test   run the tests of the library'
	@echo 'make test-all  run all tests: also those of scripts, and of runs that are killed'
	@echo 'make lint   run ruff and mypy'
	@echo 'make docs   write the API and the pages of docs/ to site/, once requirements-dev.txt is installed'
	@echo 'make model-srl  train, score and pack english-srl, a model of semantic roles, on the English Web Treebank'
	@echo 'make model-pos  the same of english-pos, parts of speech; both take ENCODER=NAME and TRAINING="{ epochs: 1 }"'
	@echo 'make clean  remove $(RUN) and caches; $(VENV) stays'

env: $(STAMP)

$(STAMP): requirements.txt setup.py
	@"$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null || \
		{ echo 'error: Python 3.11, 3.12 or 3.13 is needed (found: "$(PYTHON)"); name one with PYTHON=...' >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@# Two at a time, as pip unpacks on one core: torch with its libraries, which is half of it, and all else.
	grep -E '$(TORCH)' $< | $(INSTALL) $(COMPILE) -r /dev/stdin & \
		grep -vE '$(TORCH)' $< | $(INSTALL) $(COMPILE) -r /dev/stdin; status=$$?; wait $$! && exit $$status
	$(INSTALL) --no-build-isolation -e .
	@touch $(STAMP)

demo: env
	@mkdir -p $(RUN)
	@echo 'Four methods are trained and scored; if you stop this, the same command goes on where it was.'
	@$(DEMO) $(BIN)/python scripts/reproduce.py --suite srl_sample --methods $(METHODS) --epochs $(EPOCHS) --seeds 1 \
		--jobs 2 --threads 1 --out $(RUN) >$(RUN)/page.txt
	@sed -n '/^### test/,/^### Training/{/^###/!p;}' $(RUN)/results.md
	@printf '%s\n' 'The chef sold the old car to a neighbour yesterday .' \
		'Our teacher gave the children a book about ships .' > $(RUN)/sentences.txt
	@for model in $(RUN)/runs/srl_sample-structured-1/model/model.tar.gz english-srl; do echo; echo "by $$model:"; \
		$(DEMO) OMP_NUM_THREADS=1 $(BIN)/seal predict $$model $(RUN)/sentences.txt --output-format plain || exit; done

# What they need besides `env`.
MEASURE = $(if $(filter minilm,$(ENCODER)),$(VENV)/.measure)

$(VENV)/.measure: requirements-measure.txt $(STAMP)
	$(INSTALL) -r requirements-measure.txt
	@touch $@

model-srl model-pos: model-%: env $(MEASURE)
	@$(DEMO) $(BIN)/python scripts/ready_model.py $* $(if $(ENCODER),--encoder '$(ENCODER)') --training '$(TRAINING)'

# Each process has one thread, and up to 2 GB; files stay whole, for what the tests of one share, in the order that
# tests/conftest.py gives them.
PYTEST = $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test: env
	$(PYTEST) -m 'not slow'

test-all: env
	$(PYTEST)

LINT = $(VENV)/.lint

# Ruff and mypy alone; the other tools of that file are for those who want them.
$(LINT): requirements-dev.txt $(STAMP)
	grep -E '^(ruff|mypy)==' $< | xargs $(BIN)/python -m pip install --disable-pip-version-check -q
	@touch $@

lint: $(LINT)
	$(BIN)/ruff check seal tests scripts
	$(BIN)/ruff format --check seal tests scripts
	$(BIN)/mypy

docs: env
	$(BIN)/python scripts/upkeep/docs_site.py

clean:
	rm -rf $(RUN) site .pytest_cache .mypy_cache .hypothesis build
	find seal tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
