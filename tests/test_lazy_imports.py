"""Stand-ins for modules: what loads them, what they give then, and that nothing of them stays."""

import importlib
import sys

import pytest

from seal.lazy_imports import lazy


@pytest.fixture
def libraries(tmp_path, monkeypatch):
    """A library with a part below it, and one that uses a table of the first at its import."""
    (tmp_path / "late_one").mkdir()
    (tmp_path / "late_one" / "__init__.py").write_text("class Thing:\n    size = 3\n\nTABLE = {'a': 1}\n")
    (tmp_path / "late_one" / "part.py").write_text("def twice(number):\n    return 2 * number\n")
    (tmp_path / "late_user.py").write_text("from late_one import TABLE\nvalue = TABLE['a']\n")
    (tmp_path / "late_reader.py").write_text(
        "import late_one\nimport late_one.part as part\n"
        "from late_one import TABLE, Thing\nfrom late_one.part import twice\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.startswith("late_")]:
        del sys.modules[name]


def loaded():
    """Whether the library itself has been imported."""
    return "Thing" in vars(sys.modules.get("late_one", object))


@pytest.fixture
def reader(libraries):
    with lazy("late_one"):
        module = importlib.import_module("late_reader")
    assert not loaded() and "late_one" not in sys.modules and "late_one.part" not in sys.modules
    return module


@pytest.mark.parametrize(
    "use",
    [
        lambda reader: reader.Thing().size == 3,
        lambda reader: reader.Thing.size == 3,
        lambda reader: reader.TABLE["a"] == 1,
        lambda reader: reader.twice(4) == 8,
        lambda reader: reader.part.twice(4) == 8,
        lambda reader: reader.late_one.Thing is importlib.import_module("late_one").Thing,
        lambda reader: isinstance(importlib.import_module("late_one").Thing(), reader.Thing),
        lambda reader: not isinstance("text", reader.Thing),
        lambda reader: issubclass(importlib.import_module("late_one").Thing, reader.Thing),
        lambda reader: issubclass(subclass_of(reader.Thing), importlib.import_module("late_one").Thing),
    ],
)
def test_the_first_use_imports_the_module(reader, use):
    assert use(reader) and loaded()


def subclass_of(base):
    class Sub(base):
        pass

    return Sub


def test_a_use_inside_imports_the_module_and_leaves_the_others_late(libraries):
    with lazy("late_one", "late_two"):
        user = importlib.import_module("late_user")
        assert user.value == 1 and loaded()
        import late_two  # noqa: F401

        assert "late_two" in sys.modules
    assert "late_two" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        assert late_two.anything


def test_a_package_keeps_nothing_of_it(libraries, tmp_path):
    (tmp_path / "late_package").mkdir()
    (tmp_path / "late_package" / "__init__.py").write_text(
        "import importlib\n"
        "def __getattr__(name):\n"
        "    globals()[name] = getattr(importlib.import_module('late_package.part'), name)\n"
        "    return globals()[name]\n"
    )
    (tmp_path / "late_package" / "part.py").write_text("class Net:\n    pass\n")
    with lazy("late_package.part"):
        from late_package import Net

        assert "late_package.part" in sys.modules
    assert isinstance(importlib.import_module("late_package").Net, type)
    assert isinstance(importlib.import_module("late_package").Net(), Net)


def test_what_is_loaded_already_is_given_itself(libraries):
    real = importlib.import_module("late_one")
    with lazy("late_one"):
        assert importlib.import_module("late_one") is real
        assert importlib.import_module("late_one.part").twice(1) == 2
