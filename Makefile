# seal: `make` lists the targets. Works with the make of Linux and of macOS.

# The first of these that is there; `make env PYTHON=...` takes another (3.11 or 3.12).
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV = .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

CONFIG = training_configs/srl_nce.jsonnet
RUN = runs/demo

# Warnings that AllenNLP's own imports raise before any plugin is loaded; seal/compat.py hides the others.
QUIET = PYTHONWARNINGS='ignore:`torch.cuda.amp.custom_:FutureWarning:fairscale.experimental.nn.offload, \
	ignore:`torch.jit.script` is deprecated:FutureWarning:torch.jit._script, \
	ignore:pkg_resources is deprecated:UserWarning:rouge.rouge'

.PHONY: help env demo test clean

help:
	@echo 'make env    create $(VENV) with everything that requirements.txt names'
	@echo 'make demo   train the small SRL model, evaluate it, label two sentences'
	@echo 'make test   run the tests'
	@echo 'make clean  remove $(RUN) and caches; $(VENV) stays'

env: $(STAMP)

$(STAMP): requirements.txt setup.py
	@test -n "$(PYTHON)" || { echo 'error: no python3 found: install Python 3.11 or 3.12' >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' || \
		{ echo 'error: $(PYTHON) is not Python 3.11 or 3.12: give one with make PYTHON=...' >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps -r requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: env
	@mkdir -p runs
	$(QUIET) $(BIN)/allennlp train $(CONFIG) -s $(RUN) --force --include-package seal
	$(QUIET) $(BIN)/allennlp evaluate $(RUN)/model.tar.gz data/srl_sample/test.gold_conll --include-package seal
	@printf '%s\n' '{"sentence": "The chef sold the old car to a neighbour yesterday ."}' \
		'{"sentence": "Our teacher gave the children a book about ships ."}' > $(RUN)/sentences.jsonl
	$(QUIET) $(BIN)/allennlp predict $(RUN)/model.tar.gz $(RUN)/sentences.jsonl --predictor seal_srl --silent \
		--output-file $(RUN)/frames.jsonl --include-package seal
	@$(BIN)/python -c "import json, sys; [print(' '.join(r['words']), *('  ' + f['description'] for f in \
		r['frames']), sep='\n') for r in map(json.loads, open(sys.argv[1], encoding='utf-8'))]" $(RUN)/frames.jsonl

test: env
	$(BIN)/python -m pytest -q

clean:
	rm -rf $(RUN) .pytest_cache .hypothesis build
	find seal tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
