"""A wrong config key, type or value is named with its place, what was found and what was meant; nothing is built."""

import copy
import json
from typing import Optional, Union

import pytest
from allennlp.common import FromParams, Lazy, Params, Registrable
from allennlp.common.params import with_overrides
from allennlp.data import DataLoader, DatasetReader
from allennlp.training import GradientDescentTrainer, Trainer
from allennlp.training.optimizers import Optimizer

from seal.cli import check as checks
from seal.cli.check import check, check_overridden
from seal.cli.config_keys import with_config_key
from seal.registry import ConfigurationError
from tests.stock_tagger import CONFIG as SMALL


class Part(Registrable):
    """The class of whose parts the configs of these tests are."""


@Part.register("small")
class Small(Part):
    def __init__(
        self,
        width: int,
        share: float = 0.5,
        on: bool = False,
        name: str = "x",
        limit: Optional[int] = None,
        place: Union[int, str] = 0,
        norm: Union[int, bool] = False,
        pair: tuple[float, float] = (0.5, 0.5),
        some: tuple[int, ...] = (1,),
        kinds: set[int] = frozenset(),
        by_name: dict[str, Part] = None,
    ) -> None:
        raise AssertionError("nothing is built")


@Part.register("counting")
class Counting(Part):
    def __init__(
        self,
        num_epochs: int = 1,
        weight: float = 1.0,
        width: int = 1,
        dropout: Union[float, list[float]] = 0.0,
        decay: float = 0.9,
        warmup_steps: int = 0,
        num_filters: int = 1,
        ngram_filter_sizes: tuple[int, ...] = (2,),
        step_size: float = 0.0,
        max_instances: Optional[int] = None,
    ) -> None:
        pass


@Part.register("open")
class Open(Part):
    def __init__(self, **kwargs) -> None:
        self.kwargs = kwargs


class Whole(FromParams):
    def __init__(
        self,
        part: Part,
        parts: list[Part] = None,
        later: Lazy[Part] = None,
        later_parts: list[Lazy[Part]] = None,
        names: list[str] = None,
        other: Optional[Lazy[Part]] = None,
        either: Union[str, Part, list[Part]] = None,
    ) -> None:
        raise AssertionError("nothing is built")


def check_whole(config):
    checks._check_value("whole", "Test", Whole, config)


def refused(run, *args) -> str:
    with pytest.raises(ConfigurationError) as error:
        run(*args)
    return str(error.value)


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"norm": True, "limit": None, "place": "x", "share": 1},
        {"pair": [1, 2], "some": [1, 2, 3], "kinds": [1], "by_name": {"a": "counting"}},
        {"type": "counting", "dropout": [0, 0.5], "warmup_steps": 0, "step_size": 0, "max_instances": None},
        # A class that accepts any key still does.
        {"type": "open", "any": 1},
    ],
)
def test_right_ones(part):
    check_whole({"part": part if "type" in part else {"type": "small", "width": 1, **part}})
    check_whole({"part": "counting", "parts": ["counting"], "later": None, "either": "x"})
    # Code may give what a part that is made later lacks.
    check_whole({"part": "counting", "later": "small"})


#: A part, the key of what is wrong with it, and what else the message names.
PARTS = [
    ({"widht": 2}, "widht", '"width"'),
    ({"zzz": 2}, "zzz", "by_name, kinds"),
    ({"type": "smal"}, "type", '"smal"', '"small"'),
    ({"type": 3}, "type", "3"),
    ({"type": "small"}, "width", "Small"),
    ({"width": "2"}, "width", "'2'"),
    ({"width": 1.5}, "width", "1.5"),
    ({"share": "2"}, "share", "'2'"),
    *(({key: True}, key, "True") for key in ("width", "limit", "place")),
    ({"place": 1.5}, "place", "1.5"),
    ({"on": "yes"}, "on", "'yes'"),
    ({"name": 1}, "name", "1"),
    ({"name": None}, "name", "null"),
    ({"pair": [0.9]}, "pair", "2", "[0.9]"),
    ({"pair": 0.5}, "pair", "0.5"),
    ({"kinds": 0.5}, "kinds", "0.5"),
    ({"some": ["x"]}, "some.0", "'x'"),
    ({"by_name": ["x"]}, "by_name", "['x']"),
    ({"by_name": {"a": "x"}}, "by_name.a.type", '"x"'),
    ({"type": "counting", "num_epochs": 0}, "num_epochs", "1", "0"),
    ({"type": "counting", "ngram_filter_sizes": [3, 0]}, "ngram_filter_sizes", "1"),
    ({"type": "counting", "max_instances": 0}, "max_instances", "1"),
    ({"type": "counting", "warmup_steps": -5}, "warmup_steps", "-5"),
    ({"type": "counting", "decay": 1.9}, "decay", "1.9"),
    ({"type": "counting", "dropout": [0.5, 1]}, "dropout", "1"),
]


@pytest.mark.parametrize("part, key, named", [(*row[:2], row[2:]) for row in PARTS])
def test_a_wrong_one_is_named(part, key, named, monkeypatch):
    # The ranges are those of settings of these packages' classes.
    monkeypatch.setattr(checks, "_RANGED", ("tests",))
    found = {"part": part if "type" in part else {"type": "small", "width": 1, **part}}
    told = refused(check_whole, found)
    assert told.startswith(f'config key "whole.part.{key}"') and all(word in told for word in named), told


@pytest.mark.parametrize("part", [{"decay": 1.9}, {"dropout": 1.0}, {"warmup_steps": -5}, {"num_epochs": 0}])
def test_a_class_of_another_package_knows_its_ranges(part):
    check_whole({"part": {"type": "counting", **part}})


PLACES = [
    *(({key: "counting"}, key, "'counting'") for key in ("parts", "later_parts")),
    *(({key: ["counting", "countin"]}, f"{key}.1.type", '"counting"') for key in ("parts", "later_parts")),
    # A word is no list of letters.
    ({"names": "ab"}, "names", "'ab'"),
    *(({key: found}, key, repr(found)) for key in ("part", "later", "other") for found in ([], 5, False, {})),
    ({"part": None}, "part", "null"),
    # A misspelt required key is unknown rather than missing.
    ({"part": {"type": "small", "widht": 1}}, "part.widht", "Small"),
    ({"later": {"type": "small", "onn": True}}, "later.onn", '"on"'),
    # Of several kinds, what is inside the one that fits.
    ({"either": {"type": "small"}}, "either.width", "Small"),
    ({"either": 5}, "either", "5"),
]


@pytest.mark.parametrize("more, key, named", PLACES)
def test_parts_in_all_places(more, key, named):
    told = refused(check_whole, {"part": "counting", **more})
    assert told.startswith(f'config key "whole.{key}"') and named in told, told


CONFIG = {**SMALL, "train_data_path": "README.md"}


def changed(**changes):
    return with_overrides(copy.deepcopy(CONFIG), {key.replace("__", "."): value for key, value in changes.items()})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"random_seed": "7", "numpy_seed": 0, "pytorch_seed": None},
        {"evaluation": {"type": "simple"}, "include_in_archive": ["x"], "distributed": {"cuda_devices": [-1, -1]}},
        {"trainer__run_sanity_checks": False, "trainer__callbacks": ["console_logger"]},
        {"trainer__optimizer": {"type": "adam", "parameter_groups": [[["bias"], {"lr": 0.1}]]}},
        {"model__encoder": {"_pretrained": {"archive_file": "x", "module_path": "y"}}},
        {"train_data_path": "scripts/*.py", "validation_data_path": "README.md#valid"},
        {"validation_data_path": "https://example.org/x", "test_data_path": {"a": "x"}},
    ],
)
def test_a_config_for_training(changes):
    check(changed(**changes))


#: Changes of the config, the key, and what else the message names.
CONFIGS = [
    # AllenNLP ignores such keys: `GradientDescentTrainer` takes any keyword and looks at one of them.
    ({"trainer__num_epoch": 3}, "trainer.num_epoch", '"num_epochs"'),
    # `{"trainer": {"world_size": 2}}` would train as without it; the section `distributed` asks for workers.
    *(({f"trainer__{key}": 1}, f"trainer.{key}") for key in ("distributed", "world_size", "local_rank")),
    ({"model__type": "simple_tager"}, "model.type", '"simple_tagger"'),
    # Only the reader's base class knows this key: readers pass their `**kwargs` on.
    ({"dataset_reader__max_instance": 3}, "dataset_reader.max_instance", '"max_instances"'),
    ({"model__encoder__hidden": 3}, "model.encoder.hidden", '"hidden_size"'),
    ({"model__encoder__dropout": 1.5}, "model.encoder.dropout", "1.5"),
    (
        {"model": {"type": "seal_srl", "sampler": {"type": "discrete", "num_samples": -3}}},
        "model.sampler.num_samples",
        "-3",
    ),
    ({"model": {"type": "seal_srl", "task_loss": {"energy_weight": -1}}}, "model.task_loss.energy_weight", "-1"),
    ({"trainer__optimizer": {"lrr": 0.1, "type": "adam"}}, "trainer.optimizer.lrr", '"lr"'),
    (
        {"trainer__optimizer": {"type": "adam", "parameter_groups": [["head", {"lr": 0.1}]]}},
        "trainer.optimizer.parameter_groups.0",
        "'head'",
    ),
    ({"trainer__moving_average": {"type": "exponential", "decay": 1.9}}, "trainer.moving_average.decay", "1.9"),
    ({"random_seed": "x"}, "random_seed", "'x'"),
    ({"numpy_seed": -1}, "numpy_seed", "-1"),
    ({"pytorch_seed": 1.5}, "pytorch_seed", "1.5"),
    ({"random_sed": 1}, "random_sed", '"random_seed"'),
    ({"distributed": [-1, -1]}, "distributed", "[-1, -1]"),
    ({"distributed": {"cuda_device": [0, 1]}}, "distributed.cuda_device", '"cuda_devices"'),
    ({"distributed": {"num_nodes": 2}}, "distributed.cuda_devices"),
    *(
        ({"distributed": {"cuda_devices": found}}, "distributed.cuda_devices", str(found))
        for found in ([0, 99], [-1, 0])
    ),
    ({"distributed": {"cuda_devices": [-1]}}, "distributed"),
    ({"distributed": {"cuda_devices": [-1, -1], "timeout": 0}}, "distributed.timeout"),
    ({"evaluate_on_test": True}, "evaluate_on_test", '"test_data_path"'),
    ({"validation_dataset_reader": None}, "validation_dataset_reader"),
    ({"serialization_dir": "x"}, "serialization_dir", "-s"),
    ({"model": None}, "model"),
    ({"trainer": []}, "trainer", "[]"),
    ({"train_data_path": None}, "train_data_path"),
    ({"validation_data_path": ""}, "validation_data_path"),
    ({"train_data_path": "none.tsv"}, "train_data_path", "none.tsv"),
    ({"train_data_path": 5, "test_data_path": "~/none"}, "test_data_path", "~/none"),
    ({"vocabulary": {"type": "from_filse"}}, "vocabulary.type", '"from_files"'),
]


@pytest.mark.parametrize("changes, key, named", [(*row[:2], row[2:]) for row in CONFIGS])
def test_a_wrong_config_for_training(changes, key, named):
    told = refused(check, changed(**changes))
    assert told.startswith(f'config key "{key}"') and all(word in told for word in named), told


@pytest.mark.parametrize("key", ["model", "trainer", "data_loader", "dataset_reader"])
def test_what_a_config_must_have(key):
    config = {name: value for name, value in CONFIG.items() if name != key}
    assert refused(check, config).startswith(f'config key "{key}"')


def test_keys_that_a_trainer_of_ours_adds_are_known():
    @Trainer.register("ours", constructor="from_partial_objects", exist_ok=True)
    class Ours(GradientDescentTrainer):
        def __init__(self, *args, turns: int = 1, **kwargs) -> None:
            self.turns = turns

    check(changed(trainer={"type": "ours", "turns": 2, "num_epochs": 3}))
    assert '"turns"' in refused(check, changed(trainer={"type": "ours", "turn": 2}))


@pytest.mark.parametrize(
    "changes, key",
    [
        ({"model": []}, "model"),
        ({"model": {}}, "model"),
        ({"validation_data_loader": [1]}, "validation_data_loader"),
        ({"dataset_reader": None}, "dataset_reader"),
        ({"datset_reader": {}}, "datset_reader"),
        ({"model__encoder__hidden": 1}, "model.encoder.hidden"),
    ],
)
def test_overrides_of_a_trained_model(changes, key):
    assert refused(check_overridden, changed(**changes), CONFIG).startswith(f'config key "{key}"')


def test_overrides_are_blamed_for_what_they_change_alone():
    old = {**CONFIG, "no_more": 1, "dataset_reader": {"type": "gone"}, "trainer": {"type": "gone"}}
    check_overridden({**old, "evaluation": {}, "data_loader": {"batch_size": 3}, "trainer": {"patience": 3}}, old)


class Narrow:
    def __init__(self, width: int = 1) -> None:
        self.width = width


@Part.register("with_a_part")
class WithAPart(Narrow, Part):
    """Its constructor gives what it gets to its base class, and its part may have a defect."""

    def __init__(self, part: Optional[Part] = None, **kwargs) -> None:
        super().__init__(**kwargs)


@Part.register("refusing")
class Refusing(Part):
    def __init__(self, error: str) -> None:
        raise {"ours": ConfigurationError("part.error: no"), "defect": ValueError("no")}[error]


def build(base, config, **more):
    with with_config_key():
        return base.from_params(Params({"here": config}).pop("here"), **more)


@pytest.mark.parametrize(
    "base, config, told",
    [
        (Optimizer, {"type": "adam", "lr": -1.0}, 'config key "here": '),
        # The part is named by its whole key, and only once.
        (Part, {"type": "with_a_part", "part": {"type": "refusing", "error": "ours"}}, "here.part.error: no"),
        # A sentence that begins with another name is left alone.
        (Part, {"type": "refusing", "error": "ours"}, "part.error: no"),
    ],
)
def test_a_part_that_refuses_a_value_is_named(base, config, told):
    more = {"model_parameters": []} if base is Optimizer else {}
    assert refused(lambda: build(base, config, **more)).startswith(told)


def test_a_defect_is_no_refusal():
    with pytest.raises(ValueError, match="^no$"):
        build(Part, {"type": "with_a_part", "part": {"type": "refusing", "error": "defect"}})


@DatasetReader.register("defective")
class Defective(DatasetReader):
    def _read(self, file_path):
        raise ValueError("a defect")
        yield


def test_a_defect_of_a_reader_is_not_its_loaders():
    with pytest.raises(ValueError, match="^a defect$"):
        build(DataLoader, {"batch_size": 1}, reader=Defective(), data_path="x")


def test_the_command(tmp_path, capsys):
    from seal.cli.main import main

    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    main(["check", str(path), "--no-data"])
    assert str(path) in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["check", str(path), "-o", '{"trainer.num_epoch": 3}'])
    assert ended.value.code == 1
    assert '"trainer.num_epoch"' in capsys.readouterr().err
