"""The scripts and `allennlp` take every command of README and docs/ as it is written there."""

import inspect
import json
import re
import shlex
from types import SimpleNamespace

import pytest
from allennlp.common import Params
from allennlp.predictors import Predictor

from scripts import (
    benchmark,
    convert,
    improve_tagger,
    make_word_vectors,
    reproduce,
    stratify,
    tune,
)
from scripts.measure import bench_base, bench_multilabel_parts
from scripts.samples import join_ewt
from seal.cli.main import parser_for
from tests.scripts.written_configs import ROOT, evaluated_together

GUIDES = ("README.md", "data/README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")))
MEASUREMENTS = sorted(f"docs/measurements/{page.name}" for page in (ROOT / "docs" / "measurements").glob("*.md"))
PAGES = (*GUIDES, *MEASUREMENTS)
PARSERS = {
    "tune": tune,
    "make_word_vectors": make_word_vectors,
    "improve_tagger": improve_tagger,
    "samples/join_ewt": join_ewt,
    "convert": convert,
    "stratify": stratify,
}


def commands(text, script):
    """
    The arguments of each command, wherever it stands: in a block, over several lines, or in a sentence. Blocks that are
    of an earlier commit are left out.
    """
    text = re.sub(r"```sh\n *# at commit .*?```", "", text, flags=re.DOTALL)
    joined = re.sub(r"\\\n\s*", "", text)
    found = re.findall(rf"python scripts/{script}\.py +([^\n`]+)", joined)
    return [shlex.split(arguments, comments=True) for arguments in found]


def documented(script):
    """Each once, with the first page that has it."""
    found = {
        " ".join(arguments): (page, arguments)
        for page in reversed(PAGES)
        for arguments in commands((ROOT / page).read_text(encoding="utf-8"), script)
    }
    return [pytest.param(arguments, id=f"{page}: {line}") for line, (page, arguments) in found.items()]


def written_to(folder, arguments):
    """The command with another folder for its results, and with a folder where the page has a placeholder."""
    assert "--out" in arguments, "where do the results go?"
    replaced = [str(folder) if value == "FOLDER" else value for value in arguments]
    replaced[replaced.index("--out") + 1] = str(folder / "out")
    return replaced


def test_commands_are_found():
    text = "Try `python scripts/a.py --b 1` or:\n```sh\n"
    text += "python scripts/a.py --c 'x y' \\\n    --d   # as well\n```\n"
    assert commands(text, "a") == [["--b", "1"], ["--c", "x y", "--d"]]
    assert commands("`python scripts/a.py` and `python scripts/b.py --c`", "a") == []
    for script in ("reproduce", "benchmark"):
        pages = [page for page in PAGES if commands((ROOT / page).read_text(encoding="utf-8"), script)]
        assert set(pages) & set(GUIDES) and set(pages) & set(MEASUREMENTS)
    for script in PARSERS:
        assert documented(script)


@pytest.mark.parametrize("arguments", documented("reproduce"))
def test_reproduce_plans_it(arguments, tmp_path, monkeypatch):
    # What the data are is not asked here, but whether the command is one.
    monkeypatch.setattr(reproduce, "glob", SimpleNamespace(glob=lambda *_, **__: ["there"]))
    given = reproduce.parser().parse_args(written_to(tmp_path, arguments))
    try:
        runs = reproduce.plan(given)
    except FileNotFoundError as error:
        pytest.skip(f"a config is written from data that are not there: {error.filename}")
    assert {run.seed for run in runs} == set(reproduce.seeds_of(given.seeds))
    # Jsonnet is evaluated as it is asked for: a setting that is none shows no earlier than here.
    first = [run for run in runs if run.seed == 1]
    for run, config in zip(first, evaluated_together((run.config for run in first), runs[0].folder)):
        assert config["pytorch_seed"] == 1 and config["trainer"]["num_epochs"] == run.epochs


class Reached(Exception):
    pass


@pytest.mark.parametrize("arguments", documented("benchmark"))
def test_benchmark_takes_it(arguments, tmp_path, monkeypatch, capsys):
    def reach(*_, **__):
        raise Reached

    monkeypatch.setattr(bench_base.Benchmark, "__init__", reach)
    monkeypatch.setattr(benchmark, "choose_device", lambda _: None)  # There may be none here.
    monkeypatch.setattr(bench_multilabel_parts, "is_present", lambda _: True)
    with pytest.raises(Reached):
        assert benchmark.main(written_to(tmp_path, arguments)) == 0, capsys.readouterr().err


@pytest.mark.parametrize("suite", benchmark.SUITES)
def test_a_benchmark_that_is_none_is_refused(suite, tmp_path, capsys):
    """Otherwise the test above would accept anything."""
    assert benchmark.main(["--suite", suite, "--methods", "nse", "--out", str(tmp_path)]) == 2
    assert "there is no 'nse'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "script, arguments",
    [pytest.param(name, *given.values, id=f"{name}: {given.id}") for name in PARSERS for given in documented(name)],
)
def test_other_scripts_take_it(script, arguments):
    PARSERS[script].parser().parse_args(arguments)


def allennlp_commands(text):
    """The arguments of each call of `allennlp` that has some, as in `commands`; what is piped into it is left out."""
    # Comments first, as they may have an apostrophe. Arguments in quotes go over lines.
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"(?<=\S) +# .*", "", text))
    command = r"train|evaluate|predict|demo|report|components|\w+-\w+"
    found = re.findall(rf"\b(?:allennlp|seal) ((?:{command}) (?:'[^']*'|[^'\n`])+)", joined)
    return [shlex.split(arguments) for arguments in found]


ALLENNLP = [
    pytest.param(arguments, id=f"{page}: {' '.join(arguments)}")
    for page in PAGES
    for arguments in allennlp_commands((ROOT / page).read_text(encoding="utf-8"))
]


def takes(name):
    """Whether a predictor of this package has an argument of this name."""
    classes = [Predictor.by_name(name) for name in Predictor.list_available() if name.startswith("seal_")]
    return any(name in inspect.signature(found.__init__).parameters for found in classes)


def shown_configs(text):
    """The configs that a page shows in full, by the name in the comment of their first line."""
    return dict(re.findall(r"```jsonnet\n// (\S+\.jsonnet)\n(.*?)```", text, flags=re.DOTALL))


SHOWN = {name: config for page in PAGES for name, config in shown_configs((ROOT / page).read_text("utf-8")).items()}


@pytest.fixture(scope="module")
def config_of_a_run():
    return Params.from_file(ROOT / "training_configs" / "twitter_pos" / "margin_rescaled.jsonnet")


@pytest.fixture
def root_of_a_user(tmp_path, config_of_a_run, monkeypatch):
    """A root with the configs that pages show, and with `RUN`, the run of a config in which they continue."""
    (tmp_path / "training_configs").symlink_to(ROOT / "training_configs")
    for name, config in SHOWN.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(config, "utf-8")
    (tmp_path / "RUN").mkdir()
    config_of_a_run.to_file(str(tmp_path / "RUN" / "config.json"))
    monkeypatch.chdir(tmp_path)


def test_shown_configs_are_found():
    page = "```jsonnet\n// my.jsonnet\n{ a: 1 }\n```\n```jsonnet\n{ b: 1 }\n```\n"
    assert shown_configs(page) == {"my.jsonnet": "{ a: 1 }\n"}
    assert SHOWN


@pytest.mark.parametrize("arguments", ALLENNLP)
def test_the_command_takes_it(arguments, root_of_a_user):
    given = parser_for(arguments).parse_args(arguments)
    overrides = getattr(given, "overrides", None) or "{}"
    assert isinstance(json.loads(overrides), dict)
    for name in json.loads(getattr(given, "predictor_args", None) or "{}"):
        assert takes(name), name
    # The page on extending has a config of its own, which its test trains.
    if arguments[0] == "train" and given.param_path != "mine.jsonnet":
        config = Params.from_file(given.param_path, overrides)
        assert all(config.get(part) is not None for part in {key.partition(".")[0] for key in json.loads(overrides)})
