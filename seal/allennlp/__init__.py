"""
What this package changes in AllenNLP, which is archived. There is a module for each subject; `seal.plugin` applies all.

- Current libraries: `compat`; the pieces of words that pretrained encoders know: `pretrained_encoders`.
- The library of configs under a name: `config_imports`.
- The sentence of an error: `error_sentences`; the command `seal` prints it.
- Archives that are safe to open, also from a hub: `safe_archives`, `model_names`.
- Data in one order, and processes that load them and end together: `loading_order`.

A patch is a small function. Its docstring names what it patches, the symptom without it, and when it can go; each has
a test that fails without it. A module lists its patches in `PATCHES`, and `replacing` is the way to make one.
"""

#: The modules in the order in which they are applied: where two replace one function, the later one is called first.
IN_ORDER = (
    "compat",
    "config_imports",
    "safe_archives",
    "model_names",
    "loading_order",
    "pretrained_encoders",
)
