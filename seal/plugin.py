"""
AllenNLP is patched when it is first used, whether `seal` is imported before or after it.

The `allennlp` command imports AllenNLP before the plugin `seal`; a program may import `seal` first, and a model or a
predictor later. In both cases AllenNLP is patched (`seal.allennlp`), and every module of the package is imported, so
that configs can name everything that is registered there; new modules are found automatically.

In a program that uses the core alone, none of this happens, whether or not AllenNLP is installed.
"""

import importlib
import pkgutil
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Optional

from seal.allennlp import IN_ORDER, compat

#: What all of AllenNLP's packages import but its basics, `allennlp.common` and `allennlp.nn`, of which `seal.registry`
#: takes some.
FIRST_NEEDED = "allennlp.data"

#: Nothing is registered in the command, nor in what is for programs with scikit-learn; and no other module imports from
#: them, so that they may be imported when AllenNLP is put in order.
_APART = ("seal.__main__", "seal.cli", "seal.sklearn")


def put_in_order() -> None:
    """Patches AllenNLP and imports all modules of the package."""
    compat.silence_known_warnings()
    for name in IN_ORDER:
        for patch in importlib.import_module(f"seal.allennlp.{name}").PATCHES:
            patch()
    import_below(sys.modules["seal"], _APART)


def import_below(package: ModuleType, apart: tuple[str, ...]) -> None:
    """
    Imports all public modules below a package, but those of these names and below them. (`pkgutil.walk_packages` would
    import the packages among these, too.)
    """
    for module in pkgutil.iter_modules(package.__path__):
        name = f"{package.__name__}.{module.name}"
        if not module.name.startswith("_") and not _is_one_of(name, apart):
            imported = importlib.import_module(name)
            if module.ispkg:
                import_below(imported, apart)


def _is_one_of(module: str, names: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in names)


class _Door:
    """
    An import finder. It hands modules of AllenNLP and of this package to the other finders. When the outermost import
    that loads AllenNLP's data has ended, it puts AllenNLP in order and removes itself; not earlier, because nothing can
    be imported from modules that are still being imported.
    """

    def __init__(self) -> None:
        self._depth = 0

    def find_spec(self, name: str, path=None, target=None) -> Optional[ModuleSpec]:
        if name.partition(".")[0] not in ("allennlp", "seal") or _is_one_of(name, _APART):
            return None
        if name == "allennlp":
            compat.silence_known_warnings()  # Some are raised by AllenNLP's own imports.
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            self._watch(spec)
        return spec

    def _watch(self, spec: ModuleSpec) -> None:
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            self._depth += 1
            try:
                run(module)
            finally:
                self._depth -= 1
            if self._depth == 0 and FIRST_NEEDED in sys.modules and self in sys.meta_path:
                sys.meta_path.remove(self)
                put_in_order()

        spec.loader.exec_module = exec_module


def install() -> None:
    """Puts AllenNLP in order: now where AllenNLP was imported before `seal`, and otherwise once it is entered."""
    if "allennlp" in sys.modules:
        put_in_order()
    else:
        sys.meta_path.insert(0, _Door())
