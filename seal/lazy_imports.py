"""
Delays the import of large libraries until their first use, and imports all modules of a package.

AllenNLP's modules import torchvision, scikit-learn, SciPy, NLTK, TensorBoard and all of spaCy, which most runs do not
use.
"""

import gc
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Optional

#: The libraries that AllenNLP imports but most programs do not use: they take half of its import time.
LAZY = (
    "cached_path.schemes",
    "h5py",
    "huggingface_hub",
    "nltk",
    "rich",
    "scipy",
    "sklearn",
    "spacy",
    "tensorboardX",
    "torchvision",
    "transformers",
)


@contextmanager
def lazy(*names: str) -> Iterator[None]:
    """
    A context in which an import of these modules, or of their submodules, returns a stand-in, unless the module is
    already loaded. The stand-in imports the module on its first use. The context also disables garbage collection,
    which takes a fifth of the time of a large import and finds nothing.

    # Parameters

    names : `str`
        Modules whose import has no side effects, and whose exceptions are not caught (`except module.Error`).
    """
    finder = _Finder(names)
    sys.meta_path.insert(0, finder)
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        finder.step_aside()
        if collects:
            gc.enable()


class _Finder(Loader):
    """One of Python's finders of modules: it gives stand-ins for the named modules and for those below them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._made: dict[str, _Lazy] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if not any(name == lazy or name.startswith(f"{lazy}.") for lazy in self._names):
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._made[spec.name] = _Lazy(self, spec.name)
        return self._made[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""

    @property
    def is_on(self) -> bool:
        return self in sys.meta_path

    def step_aside(self) -> None:
        """From now on, imports give the modules themselves."""
        if self.is_on:
            sys.meta_path.remove(self)
        for name, module in self._made.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        for name in self._made:
            while "." in name:
                name = name.rpartition(".")[0]
                # A package may keep what it was asked for, as that of transformers does.
                kept = vars(sys.modules[name]) if name in sys.modules else {}
                for key in [key for key, value in kept.items() if type(value) is _Lazy]:
                    del kept[key]

    @contextmanager
    def aside(self) -> Iterator[None]:
        """
        Inside, imports give the modules themselves; afterwards stand-ins again, for modules that are not loaded by
        then.
        """
        was_on = self.is_on
        self.step_aside()
        try:
            yield
        finally:
            if was_on:
                sys.meta_path.insert(0, self)


class _Lazy(ModuleType):
    """A stand-in for a module or, if `of` names a module, for its attribute `name`."""

    def __init__(self, finder: _Finder, name: str, of: str = "") -> None:
        super().__init__(name)
        self._finder, self._name, self._of = finder, name, of

    def _itself(self) -> Any:
        with self._finder.aside():
            module = importlib.import_module(self._of or self._name)
            return getattr(module, self._name) if self._of else module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Asked for by Python's own machinery.
            raise AttributeError(name)
        if not self._of and self._finder.is_on:
            return _Lazy(self._finder, name, self._name)
        return getattr(self._itself(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._itself()(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._itself()[key]

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._itself())

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._itself())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._itself(),)


def import_below(package: ModuleType, apart: tuple[str, ...]) -> None:
    """
    Imports all public modules below a package, except the modules `apart` and their submodules.
    (`pkgutil.walk_packages` would import the packages among these, too.)
    """
    for module in pkgutil.iter_modules(package.__path__):
        name = f"{package.__name__}.{module.name}"
        if not module.name.startswith("_") and not f"{name}.".startswith(tuple(f"{one}." for one in apart)):
            imported = importlib.import_module(name)
            if module.ispkg:
                import_below(imported, apart)
