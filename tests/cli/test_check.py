"""A wrong config key, type or value is named with its place, what was found and what was meant; nothing is built."""

import copy
import json
from typing import Optional, Union

import pytest
from allennlp.common import FromParams, Lazy, Params, Registrable
from allennlp.common.params import with_overrides
from allennlp.data import DataLoader, DatasetReader
from allennlp.training import GradientDescentTrainer, Trainer
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.optimizers import Optimizer

from seal.cli import check as checks
from seal.cli.check import check, check_overridden
from seal.cli.error_places import places_named
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


@pytest.mark.parametrize(
    "part, told",
    [
        ({"widht": 2}, '.widht" is unknown to Small; did you mean "width"?'),
        ({"zzz": 2}, '.zzz" is unknown to Small; choose from: by_name, kinds, limit, name, norm, on, pair, place, sha'),
        ({"type": "smal"}, '.type": "smal" is not a registered name; did you mean "small"?'),
        ({"type": 3}, '.type" must be a name, found 3'),
        ({"type": "small"}, '.width" of Small is missing'),
        ({"width": "2"}, ".width\" of Small must be a whole number, found '2'"),
        ({"width": 1.5}, '.width" of Small must be a whole number, found 1.5'),
        ({"share": "2"}, ".share\" of Small must be a number, found '2'"),
        ({"width": True}, '.width" of Small must not be true or false, found True'),
        ({"limit": False}, '.limit" of Small must not be true or false, found False'),
        ({"place": True}, '.place" of Small must not be true or false, found True'),
        ({"place": 1.5}, '.place" of Small must be a whole number or a string, found 1.5'),
        ({"on": "yes"}, ".on\" of Small must be true or false, found 'yes'"),
        ({"name": 1}, '.name" of Small must be a string, found 1'),
        ({"name": None}, '.name" of Small is null'),
        ({"pair": [0.9]}, '.pair" of Small must be a list of 2, found [0.9]'),
        ({"pair": [1, 2, 3]}, '.pair" of Small must be a list of 2, found [1, 2, 3]'),
        ({"pair": 0.5}, '.pair" of Small must be a list, found 0.5'),
        ({"kinds": 0.5}, '.kinds" of Small must be a list, found 0.5'),
        ({"some": ["x"]}, ".some.0\" of Small must be a whole number, found 'x'"),
        ({"by_name": ["x"]}, ".by_name\" of Small must be an object, found ['x']"),
        ({"by_name": {"a": "x"}}, '.by_name.a.type": "x" is not a registered name; choose from'),
        ({"type": "counting", "num_epochs": 0}, '.num_epochs" of Counting must be at least 1, found 0.'),
        ({"type": "counting", "num_filters": -1}, '.num_filters" of Counting must be at least 1, found -1.'),
        ({"type": "counting", "ngram_filter_sizes": [3, 0]}, '.ngram_filter_sizes" of Counting must be at least 1, f'),
        ({"type": "counting", "max_instances": 0}, '.max_instances" of Counting must be at least 1, found 0.'),
        ({"type": "counting", "warmup_steps": -5}, '.warmup_steps" of Counting must be at least 0, found -5.'),
        ({"type": "counting", "decay": 1.9}, '.decay" of Counting must be at least 0 and below 1, found 1.9.'),
        ({"type": "counting", "dropout": [0.5, 1]}, '.dropout" of Counting must be at least 0 and below 1, found 1.'),
    ],
)
def test_a_wrong_one_is_named(part, told, monkeypatch):
    # The ranges are those of settings of these packages' classes.
    monkeypatch.setattr(checks, "_RANGED", ("tests",))
    found = {"part": part if "type" in part else {"type": "small", "width": 1, **part}}
    assert refused(check_whole, found).startswith(f'config key "whole.part{told}')


@pytest.mark.parametrize("part", [{"decay": 1.9}, {"dropout": 1.0}, {"warmup_steps": -5}, {"num_epochs": 0}])
def test_a_class_of_another_package_knows_its_ranges(part):
    check_whole({"part": {"type": "counting", **part}})


@pytest.mark.parametrize(
    "more, told",
    [
        *(
            ({key: "counting"}, f"{key}\" of Whole must be a list, found 'counting'")
            for key in ("parts", "later_parts")
        ),
        *(({key: 3}, f'{key}" of Whole must be a list, found 3') for key in ("parts", "later_parts")),
        *(
            ({key: ["counting", "countin"]}, f'{key}.1.type": "countin" is not a registered name; did you mean "counti')
            for key in ("parts", "later_parts")
        ),
        # A word is no list of letters.
        ({"names": "ab"}, "names\" of Whole must be a list, found 'ab'"),
        *(
            ({key: found}, f'{key}" of Whole must be an object, found {found!r}')
            for key in ("part", "later", "other")
            for found in ([], [1], 5, 0.5, False)
        ),
        *(({key: {}}, f'{key}" of Whole must have a "type", found {{}}') for key in ("part", "later", "other")),
        ({"part": None}, 'part" of Whole is null'),
        # A misspelt required key is unknown rather than missing.
        ({"part": {"type": "small", "widht": 1}}, 'part.widht" is unknown to Small'),
        ({"later": {"type": "small", "onn": True}}, 'later.onn" is unknown to Small; did you mean "on"'),
        # Of several kinds, what is inside the one that fits.
        ({"either": {"type": "small"}}, 'either.width" of Small is missing'),
        ({"either": 5}, 'either" of Whole must be a string or an object or a list, found 5'),
    ],
)
def test_parts_in_all_places(more, told):
    assert refused(check_whole, {"part": "counting", **more}).startswith(f'config key "whole.{told}')


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


@pytest.mark.parametrize(
    "changes, told",
    [
        # AllenNLP ignores such keys: `GradientDescentTrainer` takes any keyword and looks at one of them.
        ({"trainer__num_epoch": 3}, 'trainer.num_epoch" is unknown to GradientDescentTrainer; did you mean "num_epoch'),
        # `{"trainer": {"world_size": 2}}` would train as without it; the section `distributed` asks for workers.
        *(
            ({f"trainer__{key}": 1}, f'trainer.{key}" is unknown')
            for key in ("distributed", "world_size", "local_rank")
        ),
        ({"model__type": "simple_tager"}, 'model.type": "simple_tager" is not a registered name; did you mean "simple'),
        # Only the reader's base class knows this key: readers pass their `**kwargs` on.
        ({"dataset_reader__max_instance": 3}, 'dataset_reader.max_instance" is unknown to SequenceTaggingDatasetRe'),
        ({"dataset_reader__max_instances": 0}, 'dataset_reader.max_instances" of SequenceTaggingDatasetReader must be'),
        (
            {"model__encoder__hidden": 3},
            'model.encoder.hidden" is unknown to LstmSeq2SeqEncoder; did you mean "hidden_',
        ),
        ({"model__encoder__dropout": 1.5}, 'model.encoder.dropout" of LstmSeq2SeqEncoder must be at least 0 and below'),
        (
            {"trainer__optimizer": {"lrr": 0.1, "type": "adam"}},
            'trainer.optimizer.lrr" is unknown to AdamOptimizer; di',
        ),
        (
            {"trainer__optimizer": {"type": "adam", "parameter_groups": [["head", {"lr": 0.1}]]}},
            "trainer.optimizer.parameter_groups.0\" of AdamOptimizer must be a list, found 'head'",
        ),
        (
            {"trainer__learning_rate_scheduler": {"type": "step", "step_size": 0}},
            'trainer.learning_rate_scheduler.step_size" of StepLearningRateScheduler must be at least 1',
        ),
        (
            {"trainer__moving_average": {"type": "exponential", "decay": 1.9}},
            'trainer.moving_average.decay" of ExponentialMovingAverage must be at least 0 and below 1, f',
        ),
        ({"random_seed": "x"}, "random_seed\" must be a whole number from 0 to 4294967295, found 'x'"),
        ({"numpy_seed": -1}, 'numpy_seed" must be a whole number from 0 to 4294967295, found -1'),
        ({"pytorch_seed": 1.5}, 'pytorch_seed" must be a whole number from 0 to 4294967295, found 1.5'),
        ({"random_sed": 1}, 'random_sed" is unknown to TrainModel; did you mean "random_seed"?'),
        ({"distributed": [-1, -1]}, 'distributed" of TrainModel must be an object, found [-1, -1]'),
        (
            {"distributed": {"cuda_device": [0, 1]}},
            'distributed.cuda_device" is unknown to Workers; did you mean "cuda_d',
        ),
        ({"distributed": {"num_nodes": 2}}, 'distributed.cuda_devices" of Workers is missing'),
        (
            {"distributed": {"cuda_devices": [-1, -1], "num_nodes": 0}},
            'distributed.num_nodes" of Workers must be at least',
        ),
        *(
            (
                {"distributed": {"cuda_devices": devices}},
                'distributed.cuda_devices" must have numbers of GPUs, of which',
            )
            for devices in ([-2, -3], [0, 99], [-1, 0])
        ),
        ({"distributed": {"cuda_devices": [-1]}}, 'distributed" is for two processes or more'),
        *(
            ({"distributed": {"cuda_devices": [-1, -1], "timeout": seconds}}, 'distributed.timeout"')
            for seconds in ("long", 0)
        ),
        ({"evaluate_on_test": True}, 'evaluate_on_test" needs a "test_data_path", and there is none'),
        ({"evaluate_on_test": True, "test_data_path": None}, 'evaluate_on_test" needs a "test_data_path"'),
        ({"validation_dataset_reader": None}, 'validation_dataset_reader" is null; leave it out'),
        ({"serialization_dir": "x"}, 'serialization_dir": the command line says where, with -s'),
        ({"model": None}, 'model" of TrainModel is null'),
        ({"trainer": []}, 'trainer" of TrainModel must be an object, found []'),
        ({"train_data_path": None}, 'train_data_path" must be the path of data, found None'),
        ({"validation_data_path": ""}, "validation_data_path\" must be the path of data, found ''"),
        ({"train_data_path": "none.tsv"}, 'train_data_path": there is no file or folder none.tsv; put the data there'),
        ({"train_data_path": 5, "test_data_path": "~/none"}, 'test_data_path": there is no file or folder ~/none'),
        ({"vocabulary": {"type": "from_filse"}}, 'vocabulary.type": "from_filse" is not a registered name; did you'),
    ],
)
def test_a_wrong_config_for_training(changes, told):
    assert refused(check, changed(**changes)).startswith(f'config key "{told}')


@pytest.mark.parametrize("key", ["model", "trainer", "data_loader", "dataset_reader"])
def test_what_a_config_must_have(key):
    config = {name: value for name, value in CONFIG.items() if name != key}
    assert refused(check, config) == f'config key "{key}" of TrainModel is missing'


def test_keys_that_a_trainer_of_ours_adds_are_known():
    @Trainer.register("ours", constructor="from_partial_objects", exist_ok=True)
    class Ours(GradientDescentTrainer):
        def __init__(self, *args, turns: int = 1, **kwargs) -> None:
            self.turns = turns

    check(changed(trainer={"type": "ours", "turns": 2, "num_epochs": 3}))
    told = refused(check, changed(trainer={"type": "ours", "turn": 2}))
    assert told == 'config key "trainer.turn" is unknown to Ours; did you mean "turns"?'


@pytest.mark.parametrize(
    "changes, told",
    [
        ({"model": []}, 'config key "model" of TrainModel must be an object, found []'),
        ({"model": 5}, 'config key "model" of TrainModel must be an object, found 5'),
        ({"model": {}}, 'config key "model" of TrainModel must have a "type", found {}'),
        (
            {"validation_data_loader": [1]},
            'config key "validation_data_loader" of TrainModel must be an object, found [1',
        ),
        ({"dataset_reader": None}, 'config key "dataset_reader" of TrainModel is null'),
        ({"datset_reader": {}}, 'config key "datset_reader" of --overrides is unknown; did you mean "dataset_reader"?'),
        ({"model__encoder__hidden": 1}, 'config key "model.encoder.hidden" is unknown to LstmSeq2SeqEncoder'),
    ],
)
def test_overrides_of_a_trained_model(changes, told):
    assert refused(check_overridden, changed(**changes), CONFIG).startswith(told)


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
    with places_named():
        return base.from_params(Params({"here": config}).pop("here"), **more)


@pytest.mark.parametrize(
    "base, config, told",
    [
        (Optimizer, {"type": "adam", "lr": -1.0}, 'config key "here": Invalid learning rate: -1.0'),
        (Part, {"type": "with_a_part", "widht": 1}, 'config key "here.widht" is unknown to WithAPart'),
        # The part is named by its whole key, and only once.
        (Part, {"type": "with_a_part", "part": {"type": "refusing", "error": "ours"}}, "here.part.error: no"),
        # A sentence that begins with another name is left alone.
        (Part, {"type": "refusing", "error": "ours"}, "part.error: no"),
    ],
)
def test_a_part_that_refuses_a_value_is_named(base, config, told):
    more = {"model_parameters": []} if base is Optimizer else {}
    assert refused(lambda: build(base, config, **more)) == told


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


def test_a_validation_metric_that_is_not_reported():
    tracker = MetricTracker("+F1")
    with pytest.raises(ConfigurationError) as error, places_named():
        tracker.add_metrics({"f1": 3.0, "loss": 1.0})
    assert str(error.value) == (
        'config key "trainer.validation_metric": the model did not report "F1"; choose from: f1, loss'
    )


def test_the_command(tmp_path, capsys):
    from seal.cli.main import main

    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    main(["check", str(path), "--no-data"])
    assert capsys.readouterr().out == f"{path}: no mistake found\n"
    with pytest.raises(SystemExit) as ended:
        main(["check", str(path), "-o", '{"trainer.num_epoch": 3}'])
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith('error: config key "trainer.num_epoch" is unknown to Gradient')
