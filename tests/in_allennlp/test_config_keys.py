"""A wrong config key, type or value is named with its place, what was found and what was meant."""

from typing import Optional, Union

import pytest
import torch
from allennlp.common import FromParams, Lazy, Params, Registrable, from_params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader
from allennlp.modules import Embedding
from allennlp.training import GradientDescentTrainer, Trainer
from allennlp.training.metric_tracker import MetricTracker
from allennlp.training.optimizers import Optimizer

from seal.allennlp import config_keys  # (importing seal puts the checks in place)
from seal.training import AlternatingTrainer


class Part(Registrable):
    """The class that the configs of these tests build."""


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
    ) -> None:
        self.width = width
        self.norm = norm
        self.pair = pair


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
        step_size: float = 0.0,
        max_instances: Optional[int] = None,
    ) -> None:
        self.weight = weight


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
    ) -> None:
        self.part = part
        self.parts = parts
        self.names = names
        self.later_parts = [part.construct() for part in later_parts or ()]
        self.later = None if later is None else later.construct()


def build(**part):
    return Whole.from_params(Params({"part": {"type": "small", "width": 1, **part}}))


def test_a_right_config_is_built():
    assert build().part.width == 1
    assert build(norm=True).part.norm == 1
    assert build(pair=[1, 2], some=[1, 2, 3]).part.pair == (1, 2)
    assert build(type="counting", dropout=[0, 0.5], warmup_steps=0, step_size=0, max_instances=None)
    # A class that accepts any key still does.
    assert Whole.from_params(Params({"part": {"type": "open", "any": 1}})).part.kwargs == {"any": 1}


@pytest.mark.parametrize(
    "part, sentence",
    [
        ({"widht": 2}, 'config key "part.widht" is unknown to Small; did you mean "width"?'),
        (
            {"zzz": 2},
            'config key "part.zzz" is unknown to Small; choose from: limit, name, norm, on, pair, place, share, some, '
            "width",
        ),
        ({"type": "smal"}, 'config key "part.type": "smal" is not a registered name; did you mean "small"?'),
        ({"type": 3}, 'config key "part.type" must be a name, found 3'),
        ({"width": "2"}, "config key \"part.width\" of Small must be a whole number, found '2'"),
        ({"share": "2"}, "config key \"part.share\" of Small must be a number, found '2'"),
        ({"width": True}, 'config key "part.width" of Small must not be true or false, found True'),
        ({"limit": False}, 'config key "part.limit" of Small must not be true or false, found False'),
        ({"place": True}, 'config key "part.place" of Small must not be true or false, found True'),
        ({"on": "yes"}, "config key \"part.on\" of Small must be true or false, found 'yes'"),
        ({"name": 1}, 'config key "part.name" of Small must be a string, found 1'),
        ({"name": None}, 'config key "part.name" of Small is null'),
        ({"pair": [0.9]}, 'config key "part.pair" of Small must be a list of 2, found [0.9]'),
        ({"pair": [1, 2, 3]}, 'config key "part.pair" of Small must be a list of 2, found [1, 2, 3]'),
        (
            {"type": "counting", "num_epochs": 0},
            'config key "part.num_epochs" of Counting must be at least 1, found 0.',
        ),
        (
            {"type": "counting", "num_filters": -1},
            'config key "part.num_filters" of Counting must be at least 1, found -1.',
        ),
        (
            {"type": "counting", "max_instances": 0},
            'config key "part.max_instances" of Counting must be at least 1, found 0.',
        ),
        (
            {"type": "counting", "warmup_steps": -5},
            'config key "part.warmup_steps" of Counting must be at least 0, found -5.',
        ),
        (
            {"type": "counting", "decay": 1.9},
            'config key "part.decay" of Counting must be at least 0 and below 1, found 1.9.',
        ),
        (
            {"type": "counting", "dropout": [0.5, 1]},
            'config key "part.dropout" of Counting must be at least 0 and below 1, found 1.',
        ),
    ],
)
def test_a_wrong_one_is_named(part, sentence, monkeypatch):
    # The ranges are those of settings of these packages' classes.
    monkeypatch.setattr(config_keys, "_RANGED", ("tests",))
    with pytest.raises(ConfigurationError) as error:
        build(**part)
    assert str(error.value) == sentence


class Inheriting(torch.nn.Dropout):
    """A class of another package, whose own settings have ranges of their own."""

    def __init__(self, decay: float, dropout: float, num_epochs: int = 1, **settings) -> None:
        super().__init__(**settings)


@pytest.mark.parametrize("part", [{"decay": 1.9}, {"dropout": 1.0}, {"warmup_steps": -5}, {"num_epochs": 0}])
def test_a_class_of_another_package_knows_its_ranges(part):
    assert build(type="counting", **part)


def test_settings_belong_to_the_class_that_has_them():
    for name, package in {"decay": "tests", "dropout": "tests", "p": "torch", "inplace": "torch"}.items():
        assert config_keys._owner(Inheriting, Inheriting.__init__, name) == package
    constructor = AlternatingTrainer.from_partial_objects
    assert config_keys._owner(AlternatingTrainer, constructor, "num_epochs") == "seal"
    assert config_keys._owner(Embedding, Embedding.__init__, "embedding_dim") == "allennlp"


@pytest.mark.parametrize("key", ["parts", "later_parts"])
def test_names_in_lists(key):
    built = Whole.from_params(Params({"part": "counting", key: ["counting", {"type": "counting", "weight": 2}]}))
    assert [part.weight for part in getattr(built, key)] == [1, 2]
    for wrong, sentence in {
        "counting": f"config key \"{key}\" of Whole must be a list, found 'counting'",
        3: f'config key "{key}" of Whole must be a list, found 3',
        ("counting", "countin"): f'config key "{key}.1.type": "countin" is not a registered name; did you '
        'mean "counting"?',
    }.items():
        value = list(wrong) if isinstance(wrong, tuple) else wrong
        with pytest.raises(ConfigurationError) as error:
            Whole.from_params(Params({"part": "counting", key: value}))
        assert str(error.value) == sentence


def test_a_word_is_no_list_of_letters():
    assert Whole.from_params(Params({"part": "counting", "names": ["ab"]})).names == ["ab"]
    with pytest.raises(ConfigurationError, match="\"names\" of Whole must be a list, found 'ab'"):
        Whole.from_params(Params({"part": "counting", "names": "ab"}))


@pytest.mark.parametrize("key", ["part", "later", "other"])
@pytest.mark.parametrize("found", [[], [1], 5, 0.5, False])
def test_an_object_is_no_list_and_no_number(key, found):
    with pytest.raises(ConfigurationError) as error:
        Whole.from_params(Params({"part": "counting", key: found}))
    assert str(error.value) == f'config key "{key}" of Whole must be an object, found {found!r}'


@pytest.mark.parametrize("key", ["part", "later", "other"])
def test_an_empty_object_has_no_type(key):
    with pytest.raises(ConfigurationError) as error:
        Whole.from_params(Params({"part": "counting", key: {}}))
    assert str(error.value) == f'config key "{key}" of Whole must have a "type", found {{}}'


def test_null_where_there_may_be_none():
    assert build(limit=None).part.width == 1
    assert Whole.from_params(Params({"part": "counting", "later": None})).later is None
    with pytest.raises(ConfigurationError, match='config key "part" of Whole is null'):
        Whole.from_params(Params({"part": None}))


def test_a_number_with_all_its_zeros_is_a_number():
    assert build(type="counting", weight=10**300).part.weight == 1e300


def test_a_misspelt_required_key_is_unknown_rather_than_missing():
    with pytest.raises(ConfigurationError, match='"part.widht" is unknown'):
        Whole.from_params(Params({"part": {"type": "small", "widht": 1}}))


def test_lazily_built_parts_keep_their_place():
    part = {"type": "small", "width": 1}
    params = Params({"part": part, "later": {**part, "onn": True}})
    with pytest.raises(ConfigurationError, match='"later.onn" is unknown to Small; did you mean "on"'):
        Whole.from_params(params)


def test_unknown_keys_of_the_trainer_are_refused():
    """AllenNLP ignores such keys: `GradientDescentTrainer` takes any keyword and looks at one of them."""
    params = Params({"trainer": {"num_epoch": 3}})["trainer"]
    with pytest.raises(ConfigurationError, match='"trainer.num_epoch" is unknown .* mean "num_epochs"'):
        Trainer.from_params(params, model=None, data_loader=None, serialization_dir="unused")


@pytest.mark.parametrize("key", ["distributed", "world_size", "local_rank"])
def test_what_allennlp_tells_the_workers_is_no_setting(key):
    """`{"trainer": {"world_size": 2}}` would train as without it; the section `distributed` asks for workers."""
    params = Params({"trainer": {key: 1}})["trainer"]
    with pytest.raises(ConfigurationError, match=f'"trainer.{key}" is unknown'):
        Trainer.from_params(params, model=None, data_loader=None, serialization_dir="unused")


def test_keys_that_a_trainer_of_ours_adds_are_known():
    class Ours(GradientDescentTrainer):
        def __init__(self, *args, turns: int = 1, **kwargs) -> None:
            self.turns = turns

    from allennlp.common import from_params

    def check(**keys):
        constructor = Ours.from_partial_objects
        given = {"model": None, "data_loader": None, "serialization_dir": "unused"}
        return from_params.create_kwargs(constructor, Ours, Params(keys), **given)

    assert check(turns=2, num_epochs=3)["turns"] == 2
    with pytest.raises(ConfigurationError, match='"turn" is unknown to Ours; did you mean "turns"'):
        check(turn=2)


def test_the_patterns_of_a_group_are_a_list():
    named = list(torch.nn.Linear(2, 1).named_parameters())
    params = Params({"type": "adam", "parameter_groups": [[["bias"], {"lr": 0.1}]]})
    assert Optimizer.from_params(params, model_parameters=named).param_groups[0]["lr"] == 0.1
    params = Params({"type": "adam", "parameter_groups": [["head", {"lr": 0.1}]]})
    with pytest.raises(ConfigurationError, match="\"parameter_groups\" of AdamOptimizer must be a list, found 'head'"):
        Optimizer.from_params(params, model_parameters=[])


def test_optimizer_keys_are_checked():
    with pytest.raises(ConfigurationError, match='"lrr" is unknown to AdamOptimizer; did you mean "lr"'):
        Optimizer.from_params(Params({"type": "adam", "lrr": 0.1}), model_parameters=[])


def test_a_validation_metric_that_is_not_reported():
    tracker = MetricTracker(["+f1", "-loss"])
    assert tracker.combined_score({"f1": 3.0, "loss": 1.0, "ucr": 0.0}) == 2.0
    with pytest.raises(ConfigurationError) as error:
        MetricTracker("+F1").combined_score({"f1": 3.0, "loss": 1.0})
    assert str(error.value) == (
        'config key "trainer.validation_metric": the model did not report "F1"; choose from: f1, loss'
    )


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


@pytest.mark.parametrize(
    "base, config, told",
    [
        (Optimizer, {"type": "adam", "lr": -1.0}, 'config key "here": Invalid learning rate: -1.0'),
        (Part, {"type": "with_a_part", "widht": 1}, 'config key "here.widht" is unknown to WithAPart'),
        # The part is named by its whole key, and only once.
        (Part, {"type": "with_a_part", "part": {"type": "refusing", "error": "ours"}}, "here.part.error: no"),
    ],
)
def test_a_part_that_refuses_a_value_is_named(base, config, told):
    more = {"model_parameters": []} if base is Optimizer else {}
    with pytest.raises(ConfigurationError) as error:
        base.from_params(Params({"here": config}).pop("here"), **more)
    assert str(error.value) == told


def test_a_defect_is_no_refusal():
    with pytest.raises(ValueError, match="^no$"):
        Part.from_params(Params({"type": "with_a_part", "part": {"type": "refusing", "error": "defect"}}))


@DatasetReader.register("defective")
class Defective(DatasetReader):
    def _read(self, file_path):
        raise ValueError("a defect")
        yield


def test_a_defect_of_a_reader_is_not_its_loaders(tmp_path):
    loader = Params({"loader": {"batch_size": 1}}).pop("loader")
    with pytest.raises(ValueError, match="^a defect$"):
        DataLoader.from_params(loader, reader=Defective(), data_path="x")


@pytest.mark.parametrize("kind", [tuple[float, float], set[int]])
def test_what_is_no_list(kind):
    with pytest.raises(ConfigurationError, match='^config key "pair" of Small must be a list, found 0.5$'):
        from_params.pop_and_construct_arg("Small", "pair", kind, None, Params({"pair": 0.5}))
