"""
What this package changes in AllenNLP, which is archived. There is a module for each subject; `seal.plugin` applies all.

- Current libraries: `compat`; the pieces of words that pretrained encoders know: `pretrained_encoders`.
- The library of configs under a name: `config_imports`.
- A user's mistake in one sentence: `config_keys`, `whole_configs` and `unusable_files` find mistakes; so do other
  modules, each in its subject. The sentence is made by `error_sentences`; the command `seal` prints it.
- Archives that are safe to open, also from a hub: `safe_archives`, `hub_models`.
- The folder of a run: no second run enters it (`run_lock`), it stays clean (`run_folder`), and it says what was trained
  (`run_record`).
- Data in one order, and workers that end together: `loading_order`, `lost_workers`.

A patch is a small function. Its docstring names what it patches, the symptom without it, and when it can go; each has
a test that fails without it. A module lists its patches in `PATCHES`, and `replacing` is the way to make one.
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
    "loading_order",
    "pretrained_encoders",
)
