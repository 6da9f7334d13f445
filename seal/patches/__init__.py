"""
What this package changes in AllenNLP, which is archived: a module a subject, all applied by `seal.plugin`.

- Current libraries: `compat`; the pieces of words that pretrained encoders know: `pretrained_encoders`.
- The sub-commands `predict` and `evaluate`: `predicting`, `evaluating`, and `input_lines`, which the former reads.
- The library of configs under a name: `config_imports`.
- A user's mistake in one sentence: `config_keys`, `whole_configs`, `unusable_files` and `command_files` find mistakes,
  as others do in their subject; `user_errors` prints the sentence, which `error_sentences` takes from the error.
- Archives that are safe to open, also from a hub, and training that goes on from them: `safe_archives`, `hub_models`,
  `continued_models`.
- The folder of a run, which a second run is kept out of, stays clean and says what was trained: `run_lock`,
  `run_folder`, `run_record`.
- Data in one order, and workers that end together: `loading_order`, `lost_workers`.

A patch is a small function. Its docstring gives the upstream name that it patches, the symptom without it, and the
condition under which it can go; a test for each fails without it. The tuple `PATCHES` of a module has those of the
module, and `replacing` is how they are made.
"""

#: The modules in the order in which they are applied: where two replace one function, the later one is called first.
IN_ORDER = (
    "compat",
    "config_keys",
    "config_imports",
    "lost_workers",
    "whole_configs",
    "run_folder",
    "run_lock",
    "run_record",
    "unusable_files",
    "safe_archives",
    "hub_models",
    "command_files",
    "predicting",
    "evaluating",
    "loading_order",
    "pretrained_encoders",
    "continued_models",
)
