"""What the sub-commands are given. The sentences for files are tested in `tests/user_errors`."""

import sys

import pytest
from allennlp import commands
from allennlp.common.checks import ConfigurationError

import seal  # noqa: F401


@pytest.mark.parametrize("name", ["no_such_package", "no_such_package.part", "seal.no_such_part"])
def test_a_package_that_is_not_there(name):
    with pytest.raises(ConfigurationError, match=f"^--include-package {name}: there is no such package$"):
        commands.import_module_and_submodules(name)


def test_what_a_package_itself_lacks_keeps_its_traceback(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        commands.import_module_and_submodules("needs_more")
    assert "needs_more" not in sys.modules
