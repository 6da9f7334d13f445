import importlib
import inspect
import pkgutil

from allennlp.common import Registrable

import seal.plugin


def test_what_a_config_can_name_is_imported_from_its_package():
    named = {found for names in Registrable._registry.values() for found, _ in names.values()}
    missing, seen = [], 0
    for info in pkgutil.walk_packages(seal.__path__, f"{seal.__name__}."):
        module, package = importlib.import_module(info.name), importlib.import_module(info.name.rpartition(".")[0])
        for name, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == info.name and member in named and not name.startswith("_"):
                seen += 1
                if getattr(package, name, None) is not member:
                    missing.append(f"{info.name}.{name}")
    assert seen > 100 and not missing
