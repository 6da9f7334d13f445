"""Gates beside each other on the scores that `option_scores` keeps, and the prior of gains that these give."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch

from scripts.measure.cells import markdown_table
from scripts.measure.option_scores import Setup
from seal.structure.gain_priors import UNKNOWN, Gains
from seal.structure.gate import gains_before, gate
from seal.structure.label_set_options import labels_above, options_for
from seal.structure.scores import LABEL_SET_SCORES, Ratio

#: To which validation data are cut, and how often at random.
SIZES, DRAWS = (100, 300, 1000), 2
#: The option from which tests start, where it is not `own`.
STARTS = {"exact_match": "likeliest", "subset_accuracy": "likeliest"}


#: Gains of structures on stronger nets, in points, of docs/measurements/structure.md: a CRF on a BiLSTM or MiniLM, by
#: family and score. Of WNUT-17 and of tweets they are those of the likeliest outputs on dev.
DOCUMENTED: dict[tuple[str, str], dict[str, float]] = {
    ("spans", "f1"): {"EWT frames": 3.0, "WNUT-17": -7.0},
    ("spans", "exact_match"): {"EWT frames": 4.0, "WNUT-17": 1.1},
    ("words", "accuracy"): {"EWT parts of speech": 0.5, "Twitter parts of speech": -0.4},
    ("words", "exact_match"): {"EWT parts of speech": 3.8},
}


class Trial(NamedTuple):
    """The gate's input for a score on validation data of a reduced size, and the test score of each option."""

    setup: Setup
    size: int
    score: str
    #: `(instances, 2)` each, numerators and denominators.
    valid: dict[str, torch.Tensor]
    groups: torch.Tensor
    #: The gain of each option over `own` on test data, its variance by these, and an instance's own.
    gains: dict[str, float]
    variances: dict[str, float]
    single: dict[str, float]

    def options(self) -> dict[str, Ratio]:
        return {name: Ratio(*found.double().unbind(1)) for name, found in self.valid.items()}


def trials(path: Path) -> list[Trial]:
    """All of a data set's; they are kept beside its scores."""
    kept = path.with_suffix(".trials")
    if not kept.exists():
        found = [tuple(trial) for trial in _trials(torch.load(path, weights_only=False))]
        torch.save(found, kept)
    return [Trial(Setup(*setup), *rest) for setup, *rest in torch.load(kept, weights_only=False)]


def _trials(found: dict[str, Any]) -> Iterator[Trial]:
    setup = Setup(*found["setup"])
    label_sets = setup.family == "label sets"
    valid, test = found["valid"], found["test"]
    groups = valid["groups"]
    groups = torch.arange(len(valid["own"])) if groups is None else groups
    chance = torch.Generator().manual_seed(setup.seed)
    number = int(groups.max()) + 1
    for size in SIZES:
        if size > len(groups):
            continue
        for _ in range(DRAWS):
            # Whole groups, until there are so many instances.
            order = torch.randperm(number, generator=chance)
            reached = groups.bincount(minlength=number)[order].cumsum(0) <= size
            rows = reached[order.argsort()][groups].nonzero().squeeze(1)
            of_scores = _label_set_options(valid, test, rows) if label_sets else _tag_options(valid, test, rows)
            for score, (chosen_by, tested) in of_scores.items():
                own, others = tested["own"], [name for name in tested if name != "own"]
                differences = {name: (tested[name].influence() - own.influence()).double() for name in others}
                yield Trial(
                    tuple(setup),
                    size,
                    score,
                    {name: torch.stack([r.numerators, r.denominators], dim=1).float() for name, r in chosen_by.items()},
                    groups[rows],
                    {name: tested[name].value - own.value for name in others},
                    {name: float(d.var()) / len(d) for name, d in differences.items()},
                    {name: float(d.std()) for name, d in differences.items()},
                )


Options = dict[str, tuple[dict[str, Ratio], dict[str, Ratio]]]


def _tag_options(valid: dict[str, Any], test: dict[str, Any], rows: torch.Tensor) -> Options:
    return {
        score: (
            {name: Ratio(*found[:, rows]) for name, found in options.items()},
            {name: Ratio(*found) for name, found in test["options"][score].items()},
        )
        for score, options in valid["options"].items()
    }


def _label_set_options(valid: dict[str, Any], test: dict[str, Any], rows: torch.Tensor) -> Options:
    own, q, gold = valid["own"].float()[rows], _q(valid)[rows], valid["gold"][rows]
    new, new_q, wanted = test["own"].float(), _q(test), test["gold"]
    found: Options = {}
    for score, ratio in LABEL_SET_SCORES.items():
        seen = {"groups": valid["groups"][rows], "predicted": valid["predicted"][rows]}
        options, settings = options_for(score, own, q, gold, **seen)
        tested = {}
        for name, setting in settings.items():
            if "output" in setting:
                labels = new_q[:, setting["output"]].bool()
            elif name == "predict":
                labels = test["predicted"]
            else:
                mixed = torch.lerp(new, new_q[:, 0], setting["blend"])
                labels = labels_above(mixed, setting["threshold"], setting["never_nothing"])
            tested[name] = ratio(labels, wanted)
        found[score] = options, tested
    return found


def _q(part: dict[str, Any]) -> torch.Tensor:
    return torch.cat([part["q"]["marginals"].float().unsqueeze(1), part["q"]["sets"].float()], dim=1)


# The prior.


def priors(found: Sequence[Trial], without: str | None = None) -> dict[tuple[str, str], dict[str, Gains]]:
    """
    By family and score, of each option: see `Gains`. Each data set weighs the same, and so does each of `DOCUMENTED`;
    made-up ones do not count, nor does the one `without`.
    """
    rows: dict[tuple, dict[str, list]] = defaultdict(lambda: defaultdict(list))
    for trial in found:
        if "made up" in trial.setup.data or trial.setup.data == without:
            continue
        for option, gain in trial.gains.items():
            row = gain, trial.variances[option], trial.single[option]
            rows[trial.setup.family, trial.score, option][trial.setup.data].append(row)
    result: dict[tuple[str, str], dict[str, Gains]] = defaultdict(dict)
    for (family, score, option), of_data in rows.items():
        means = numpy.array([numpy.mean(some, axis=0) for some in of_data.values()])
        documented = DOCUMENTED.get((family, score), {}).items()
        further = [[gain / 100, *means[:, 1:].mean(axis=0)] for data, gain in documented if data != without]
        means = numpy.concatenate([means, numpy.array(further).reshape(-1, 3)])
        inside = numpy.mean([numpy.var([row[0] for row in some]) for some in of_data.values()])
        between = means[:, 0].var(ddof=1) if len(means) > 1 else 0.02**2
        spread = max(between + inside - 0.5 * means[:, 1].mean(), 0.2 * (between + inside) + 1e-6) ** 0.5
        numbers = means[:, 0].mean(), spread, means[:, 2].mean()
        result[family, score][option] = Gains(*(round(float(number), 4) for number in numbers))
    return dict(result)


# Gates.


def by_posterior(trial: Trial, earlier: dict[str, Gains]) -> str:
    return gate(trial.options(), earlier, trial.groups).chosen


def by_test(trial: Trial, level: float) -> str:
    """
    The gate of versions before: one option is chosen beforehand, and left for the best of those that are significantly
    better in a paired test that counts the options.
    """
    options = trial.options()
    start = STARTS.get(trial.score, "own")
    others = [name for name in options if name != start]
    tested = dict(zip(others, p_values([options[name] for name in others], options[start])))
    better = [name for name in others if tested[name] <= level and options[name].value > options[start].value]
    return max(better, key=lambda name: options[name].value) if better else start


def p_values(options: list[Ratio], start: Ratio, draws: int = 1000) -> list[float]:
    """
    Of each option the probability that, were none better than `start`, one of them would seem as much better as it
    does: a paired test by random signs of the differences, of the largest of the options' t (max-t; Westfall & Young
    1993).
    """
    differences = torch.stack([ratio.influence() - start.influence() + ratio.value - start.value for ratio in options])
    differences = differences[:, (differences != 0).any(dim=0)].float()
    if differences.shape[1] == 0:
        return [1.0] * len(options)
    scaled = differences / differences.square().sum(dim=1, keepdim=True).sqrt().clamp(min=1e-12)
    signs = torch.empty(draws, scaled.shape[1])
    signs = signs.bernoulli_(0.5, generator=torch.Generator().manual_seed(0)) * 2 - 1
    largest = (signs @ scaled.T).amax(dim=1, keepdim=True)
    exceeded = (largest >= scaled.sum(dim=1) - 1e-5).sum(dim=0)
    return ((exceeded + 1) / (draws + 1)).tolist()


# Tables.

GATES = {
    "the library's": by_posterior,
    "test at 0.1": lambda trial, earlier: by_test(trial, 0.1),
    "test at 1": lambda trial, earlier: by_test(trial, 1.0),
}
FAMILIES = {"label sets": "label sets", "spans": "frames and entities", "words": "parts of speech"}
TITLES = {
    "f1": "F1",
    "micro_f1": "micro F1",
    "accuracy": "accuracy",
    "subset_accuracy": "exact match",
    "exact_match": "exact match",
}


def gained(found: Sequence[Trial], leave_out: bool = True) -> Iterator[tuple[Trial, dict[str, float]]]:
    """
    Of each trial the test gain over `own`, in percent, of what each gate chose. With `leave_out` the priors come from
    the other data sets; otherwise from the library.
    """
    known = {data: priors(found, data) for data in {trial.setup.data for trial in found}} if leave_out else {}
    for trial in found:
        key, options = (trial.setup.family, trial.score), list(trial.gains)
        earlier = gains_before(*key, options)
        if leave_out:
            earlier = {name: known[trial.setup.data].get(key, {}).get(name, UNKNOWN) for name in options}
        chosen = {name: choose(trial, earlier) for name, choose in GATES.items()}
        yield trial, {name: 100 * trial.gains.get(option, 0.0) for name, option in chosen.items()}


def table(found: Sequence[Trial]) -> str:
    """Mean test gains of each gate, by family, score and size of the validation data, and over all."""
    of_all = list(gained(found))
    rows = [
        [FAMILIES[family], TITLES[score], f"{size:,}", *_cells(some)]
        for (family, score, size), some in _grouped(of_all, lambda t: (t.setup.family, t.score, t.size))
    ]
    rows += [["all", title, "all", *_cells(some)] for (title,), some in _grouped(of_all, lambda t: (TITLES[t.score],))]
    setups = {trial.setup for trial in found}
    told = (
        f"Mean test gain over the task-net's own output, in points, of {len(setups)} trained task-nets on "
        f"{len({setup.data for setup in setups})} data sets, {DRAWS} cuts of the validation data each. The last column "
        "has the number of cuts."
    )
    return told + "\n\n" + markdown_table(["family", "score", "validation", *GATES, "cuts"], rows)


def noise_table(found: Sequence[Trial]) -> str:
    """The same where gold is drawn from the task-nets, by the earlier gains of the library."""
    of_all = list(gained(found, leave_out=False))
    rows = [
        [FAMILIES[family], TITLES[score], *_cells(some)]
        for (family, score), some in _grouped(of_all, lambda t: (t.setup.family, t.score))
    ]
    rows += [["all", "all", *_cells(of_all)]]
    return (
        "Where gold is drawn from the task-net's own distribution, so that nothing more can be learned:\n\n"
        + markdown_table(["family", "score", *GATES, "cuts"], rows)
    )


def _grouped(of_all: list, key: Any) -> Iterator[tuple[tuple, list]]:
    groups: dict[tuple, list] = defaultdict(list)
    for trial, gains in of_all:
        groups[key(trial)].append((trial, gains))
    yield from groups.items()


def _cells(some: list) -> list[str]:
    means = {name: numpy.mean([gains[name] for _, gains in some]) for name in GATES}
    return [*(f"{mean:+.2f}" for mean in means.values()), str(len(some))]


def module(text: str, found: Sequence[Trial]) -> str:
    """The module of earlier gains with what these trials say, in the place of its last statement."""
    head, start, _ = text.partition("PRIORS: ")
    lines = [f"{start}dict[tuple[str, str], dict[str, Gains]] = {{"]
    for (family, score), of_options in priors(found).items():
        lines += [f'    ("{family}", "{score}"): {{']
        lines += [
            f'        "{name}": Gains({", ".join(f"{v:g}" for v in gains)}),' for name, gains in of_options.items()
        ]
        lines += ["    },"]
    return head + "\n".join([*lines, "}", ""])
