"""The core needs PyTorch and NumPy alone: it is imported and used where nothing else can be."""

import json
import subprocess
import sys
import textwrap

import pytest

#: What is imported with torch and NumPy alone.
CORE = (
    "seal.constraints",
    "seal.energies",
    "seal.hypergradients",
    "seal.losses",
    "seal.nets",
    "seal.output_spaces",
    "seal.rewards",
    "seal.samplers",
    "seal.scores",
    "seal.structure",
    "seal.two_player",
)

# Of what the standard library lacks, these are there: PyTorch, NumPy, and what PyTorch itself needs.
ALONE = """
    import importlib.abc, importlib.machinery, sys

    class Missing(importlib.abc.MetaPathFinder):
        needed = {"seal", "torch", "numpy", "typing_extensions", "sympy", "mpmath", "filelock", "networkx", "jinja2",
                  "markupsafe", "fsspec", "torchgen", "functorch"}

        def find_spec(self, name, path=None, target=None):
            root = name.partition(".")[0]
            known = root in sys.stdlib_module_names | self.needed or root.startswith("_sysconfigdata")
            return None if known else importlib.machinery.ModuleSpec(name, None)

    found = importlib.machinery.PathFinder.find_spec
    hide = Missing()

    def only_what_is_there(name, path=None, target=None):
        spec = hide.find_spec(name)
        return found(name, path, target) if spec is None else None

    importlib.machinery.PathFinder.find_spec = only_what_is_there
"""

# Each package is imported in a child of its own, which has torch already, and tells what else it has loaded.
LOADED = """
    import importlib, json, os, sys
    import numpy, torch

    there = set(sys.modules)
    for name in sys.argv[1:]:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            importlib.import_module(name)
            loaded = sorted(set(sys.modules) - there)
            print(json.dumps([name, loaded, sys.excepthook is sys.__excepthook__]))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
"""

LABEL_SETS = """
    import torch
    from seal.structure import LabelSetStructure

    torch.manual_seed(0)
    # Two labels that are always together, of which the scores see one.
    gold = torch.randint(0, 2, (200, 1)).float().repeat(1, 2)
    logits = torch.stack([4 * gold[:, 0] - 2, 0.3 * torch.randn(200)], dim=1)
    structure = LabelSetStructure(2)
    structure.fit(logits, gold)
    assert torch.equal(structure.decide(logits, "subset_accuracy").float(), gold)
"""

NAMES = """
    import json
    from seal import energies, hypergradients, losses, nets, output_spaces, samplers, scores

    bases = [output_spaces.OutputSpace, energies.Energy, losses.EnergyLoss, losses.TaskLoss, samplers.Sampler,
             scores.Score, scores.Cost, nets.TaskNet, nets.LossNet, nets.CostAugmentedNet, nets.Encoder,
             hypergradients.InverseHessianVector]
    names = {base.__name__: sorted(base.list_available()) for base in bases}
"""

TAGS = """
    import torch
    from seal.energies import LinearChainEnergy, LocalEnergy, SelfAttentionEnergy
    from seal.losses import MarginLoss
    from seal.nets import Encoder, LossNet, TaskNet
    from seal.output_spaces import CrfTagSequence, TagSequence
    from seal.samplers import GradientBasedInference
    from seal.two_player import TwoNets, TwoPlayerStep, Updates

    class Words(Encoder):
        def __init__(self):
            super().__init__()
            self.embedding, self.lstm = torch.nn.Embedding(9, 4), torch.nn.LSTM(4, 3, batch_first=True)

        def forward(self, inputs):
            return self.lstm(self.embedding(inputs["words"]))[0]

        def get_output_dim(self):
            return 3

    torch.manual_seed(0)
    labels = ["O", "B-A", "I-A"]
    space = TagSequence(labels, encoding="BIO")
    loss_net = LossNet([LocalEnergy, LinearChainEnergy, lambda **given: SelfAttentionEnergy(hidden_dim=4, **given)],
                       space, task_net_dim=3)
    nets = TwoNets(TaskNet(Words(), space), loss_net, space,
                   GradientBasedInference(3, objective="cost_augmented"), MarginLoss())
    step = TwoPlayerStep(nets, Updates(torch.optim.Adam(nets.task_net_parameters(), lr=0.05)),
                         Updates(torch.optim.Adam(nets.loss_net_parameters(), lr=0.01)))
    words = torch.randint(9, (8, 5))
    mask = torch.arange(5) < torch.randint(2, 6, (8, 1))
    gold = (words % 2) * mask
    batch = {"inputs": {"words": words}, "gold": gold, "mask": mask}
    first = float(step.step(batch)["task_net"])
    for _ in range(60):
        losses = step.step(batch)
    found = space.decode(nets(batch["inputs"]), mask)
    assert float(losses["task_net"]) < first / 2 and (found == gold)[mask].float().mean() > 0.9
    crf = CrfTagSequence(labels)
    assert crf.cross_entropy(torch.randn(8, 5, 3), gold, mask).shape == (8,)
"""


def run(code, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def loaded_by(before, there):
    """What each package of the core loads beyond torch and NumPy, and whether Python's hook for errors stays."""
    ended = run(textwrap.dedent(before) + there + textwrap.dedent(LOADED), *CORE)
    return {name: (modules, kept) for name, modules, kept in map(json.loads, ended.stdout.splitlines())}, ended.stderr


@pytest.fixture(scope="module")
def alone():
    return loaded_by(ALONE, "")


@pytest.fixture(scope="module")
def beside_allennlp():
    # Nor is what AllenNLP stands on imported for each package anew.
    return loaded_by("", "import cached_path, spacy, transformers")


@pytest.mark.parametrize("name", CORE)
def test_a_package_of_the_core_needs_torch_alone(name, alone):
    loaded, errors = alone
    assert name in loaded, errors
    modules, _ = loaded[name]
    assert name in modules
    others = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names - {"seal", "torch", "numpy"}
    assert not others
    # A few modules of its own, and little else: some 40 to 110 when this was written.
    assert len(modules) < 150


@pytest.mark.parametrize("name", CORE)
def test_where_allennlp_is_installed_the_core_does_not_enter_its_room(name, beside_allennlp):
    loaded, errors = beside_allennlp
    assert name in loaded, errors
    modules, hook_kept = loaded[name]
    # Registered classes are AllenNLP's, for its configs.
    assert "allennlp.common.registrable" in modules
    heavy = ("allennlp.data", "allennlp.modules", "allennlp.models", "allennlp.training", "allennlp.commands")
    assert not [module for module in modules if module.startswith(heavy)]
    own = {".".join(module.split(".")[:2]) for module in modules if module.startswith("seal.")}
    assert not own & {"seal.tasks", "seal.training", "seal.plugin", "seal_inspect"}
    assert hook_kept


@pytest.mark.parametrize("program", [LABEL_SETS, TAGS], ids=["structure", "two players"])
def test_use_needs_torch_alone(program):
    ended = run(f"{textwrap.dedent(ALONE)}\n{textwrap.dedent(program)}\nprint('done')")
    assert ended.stdout == "done\n", ended.stderr


def test_the_same_names_are_registered_but_those_that_need_allennlp():
    import seal.plugin  # noqa: F401  with which all modules are imported

    ended = run(f"{textwrap.dedent(ALONE)}\n{textwrap.dedent(NAMES)}\nprint(json.dumps(names))")
    alone, beside = json.loads(ended.stdout), {}
    exec(textwrap.dedent(NAMES), beside)
    more = {base: sorted(set(names) - set(alone[base])) for base, names in beside["names"].items()}
    assert {base: names for base, names in more.items() if names} == {
        "Energy": ["tag_language_model"],
        "CostAugmentedNet": ["stacked"],
        "Encoder": ["seq2seq", "seq2vec", "text_transformer", "transformer"],
    }
    assert all(alone.values()) and all(set(names) <= set(beside["names"][base]) for base, names in alone.items())
