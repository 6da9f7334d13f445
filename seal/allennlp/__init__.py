"""
Patches of AllenNLP, which is no longer developed. `seal.plugin` applies them all.

- `compat`: AllenNLP runs on current libraries.
- `pretrained_encoders`: pretrained transformers are loaded from a folder or from the hub.
- `config_imports`: configs import the library of configs by name.
- `safe_archives`, `model_names`: archives of models are safe to open, and are found by name, also on a hub.
- `loading_order`: data come in the same order in every run, and loading processes end with the command.

`error_sentences` patches nothing: it makes the sentences that the command `seal` prints in place of tracebacks.

A patch is a small function. Its docstring names the patched function, the symptom without the patch, and when the patch
can go. Each patch has a test that fails without it. A module lists its patches in `PATCHES`, and makes them by
`replacing.replace_once`.
"""

#: The modules, in the order in which their patches are applied. If two patch one function, the later one is called
#: first.
IN_ORDER = (
    "compat",
    "config_imports",
    "safe_archives",
    "model_names",
    "loading_order",
    "pretrained_encoders",
)
