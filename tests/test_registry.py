"""The stand-ins where there is no AllenNLP; where there is, they are AllenNLP's."""

import textwrap

import allennlp.common
import allennlp.nn

from seal import registry
from tests.test_torch_alone import ALONE, run

STAND_INS = """
    import torch
    from seal.registry import Activation, ConfigurationError, Registrable

    class Base(Registrable):
        pass

    @Base.register("one")
    class One(Base):
        pass

    assert Base.by_name("one") is One and Base.list_available() == ["one"]
    for wrong in (lambda: Base.by_name("two"), lambda: Base.register("one")(One)):
        try:
            wrong()
        except ConfigurationError as error:
            print(error)
    x = torch.randn(5)
    for name in Activation.list_available():
        Activation.by_name(name)()(x)
    assert torch.allclose(Activation.by_name("swish")()(x), x * x.sigmoid())
"""


def test_allennlp_is_taken_where_it_is_installed():
    for name in ("FromParams", "Lazy", "Registrable"):
        assert getattr(registry, name) is getattr(allennlp.common, name)
    assert registry.Activation is allennlp.nn.Activation


def test_stand_ins():
    ended = run(textwrap.dedent(ALONE) + textwrap.dedent(STAND_INS))
    unknown, twice = ended.stdout.splitlines()
    assert "'two'" in unknown and "'one'" in unknown and "One" in twice, ended.stderr
