"""
Makes this package a plugin of AllenNLP: patches AllenNLP (`seal.allennlp`) and imports every module of the package, so
that configs can name all that is registered there. New modules are found automatically.

The command `seal`, `seal.load`, and the packages of tasks and trainers import this module; so does `import seal` where
AllenNLP was imported before it, as by `allennlp ... --include-package seal` and by a plugins file. A program that uses
the core alone never imports it.
"""

import importlib

import seal
from seal.allennlp import IN_ORDER, compat
from seal.lazy_imports import import_below

#: Nothing is registered in the command, nor in what is for programs with scikit-learn.
_APART = ("seal.__main__", "seal.cli", "seal.sklearn")

# Some are raised by AllenNLP's own imports.
compat.silence_known_warnings()
for _name in IN_ORDER:
    for _patch in importlib.import_module(f"seal.allennlp.{_name}").PATCHES:
        _patch()
import_below(seal, _APART)
