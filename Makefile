# seal: `make` lists the targets. Works with the make of Linux and of macOS.

# The first of these that runs and is 3.11 or 3.12; `make env PYTHON=...` takes another.
SUPPORTED = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))
PYTHON ?= $(shell for p in python3.11 python3.12 python3; do \
	"$$p" -c '$(SUPPORTED)' 2>/dev/null && { command -v "$$p"; break; }; done)
VENV = .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed

CONFIG = training_configs/srl_nce.jsonnet
RUN = runs/demo

# One thread: a second one saves a sixth of the demo's time on an idle machine, and costs ten times as much beside other
# work. And no warnings that AllenNLP's own imports raise before any plugin is loaded; seal/compat.py hides the others.
DEMO = OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} \
	PYTHONWARNINGS='ignore:`torch.cuda.amp.custom_:FutureWarning:fairscale.experimental.nn.offload, \
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
	@"$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null || \
		{ echo 'error: Python 3.11 or 3.12 is needed (found: "$(PYTHON)"); name one with PYTHON=...' >&2; exit 1; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps -r requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check -q --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: env
	@mkdir -p runs
	$(DEMO) $(BIN)/allennlp train $(CONFIG) -s $(RUN) --force --include-package seal
	$(DEMO) $(BIN)/allennlp evaluate $(RUN)/model.tar.gz data/srl_sample/test.gold_conll --include-package seal
	@printf '%s\n' 'The chef sold the old car to a neighbour yesterday .' \
		'Our teacher gave the children a book about ships .' > $(RUN)/sentences.txt
	$(DEMO) $(BIN)/allennlp predict $(RUN)/model.tar.gz $(RUN)/sentences.txt --predictor seal_srl --silent \
		--output-file $(RUN)/frames.jsonl --include-package seal
	@$(BIN)/python -c "import json, sys; [print(' '.join(r['words']), *('  ' + f['description'] for f in \
		r['frames']), sep='\n') for r in map(json.loads, open(sys.argv[1], encoding='utf-8'))]" $(RUN)/frames.jsonl

# Each process has one thread, and up to 2 GB; files stay whole, for what the tests of one share.
test: env
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile

clean:
	rm -rf $(RUN) .pytest_cache .hypothesis build
	find seal tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
