"""Gates beside each other on the scores that `option_scores` keeps, and the prior of gains that these give."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch

from scripts.measure.cells import markdown_table
from scripts.measure.option_scores import Setup
from seal.structure.gain_priors import PRIORS, Earlier, Gains
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
    #: The score of each option on test data.
    tested: dict[str, float]
    #: The number of test instances, and the covariances of an instance's effects on the scores of any two options.
    instances: int
    covariances: numpy.ndarray

    @property
    def gains(self) -> dict[str, float]:
        """The test gain of each other option over `own`."""
        return {name: value - self.tested["own"] for name, value in self.tested.items() if name != "own"}

    def variance(self, option: str, start: str) -> float:
        """That of an instance's difference on test data."""
        one, other = (list(self.tested).index(name) for name in (option, start))
        found = self.covariances
        return max(found[one, one] + found[other, other] - 2 * found[one, other], 0.0)

    def options(self) -> dict[str, Ratio]:
        return {name: Ratio(*found.double().unbind(1)) for name, found in self.valid.items()}


def trials(path: Path) -> list[Trial]:
    """All of a data set's; they are kept beside its scores."""
    kept = path.with_suffix(".cuts")
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
                yield Trial(
                    tuple(setup),
                    size,
                    score,
                    {name: torch.stack([r.numerators, r.denominators], dim=1).float() for name, r in chosen_by.items()},
                    groups[rows],
                    {name: tested[name].value for name in chosen_by},
                    len(tested["own"].numerators),
                    numpy.cov(torch.stack([tested[name].influence() for name in chosen_by]).double().numpy()),
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


def priors(found: Sequence[Trial], without: str | None = None) -> dict[tuple[str, str], Earlier]:
    """
    By family and score the option of the highest mean gain, and the differences of the others to it: see `Gains`. Each
    data set weighs the same, and so does each of `DOCUMENTED`; made-up ones do not count, nor does the one `without`.
    """
    of_scores: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in found:
        if "made up" not in trial.setup.data and trial.setup.data != without:
            of_scores[trial.setup.family, trial.score].append(trial)
    result = {}
    for (family, score), some in of_scores.items():
        further = DOCUMENTED.get((family, score), {})
        documented = [gain / 100 for data, gain in further.items() if data != without]
        options = list(dict.fromkeys(name for trial in some for name in trial.tested))
        means = {name: _gains(some, name, "own", documented).mean for name in options}
        start = max(means, key=lambda name: means[name])
        gains = {name: _gains(some, name, start, documented) for name in options if name != start}
        result[family, score] = Earlier(start, gains)
    return result


def _gains(found: Sequence[Trial], option: str, start: str, documented: Sequence[float]) -> Gains:
    """
    The differences of `option` to `start`. `documented` has further gains of structures over `own`, of which nothing
    else is known.
    """
    if option == start:
        return Gains(0.0, 0.0, 0.0)
    of_data: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for trial in found:
        if option in trial.tested and start in trial.tested:
            variance = trial.variance(option, start)
            row = trial.tested[option] - trial.tested[start], variance / trial.instances, variance**0.5
            of_data[trial.setup.data].append(row)
    rows = [numpy.array(some) for some in of_data.values()]
    means = [some[:, 0].mean() for some in rows]
    if "own" in (option, start):
        means += [gain if start == "own" else -gain for gain in documented]
    inside = numpy.mean([some[:, 0].var() for some in rows])
    error, deviation = numpy.mean([some[:, 1:].mean(axis=0) for some in rows], axis=0)
    between = numpy.var(means, ddof=1) if len(means) > 1 else 0.02**2
    spread = max(between + inside - 0.5 * error, 0.2 * (between + inside) + 1e-6) ** 0.5
    return Gains(*(round(float(number), 4) for number in (numpy.mean(means), spread, deviation)))


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
    "in hindsight": lambda trial, earlier: max(trial.tested, key=lambda name: trial.tested[name]),
}
FAMILIES = {"label sets": "label sets", "spans": "frames and entities", "words": "parts of speech"}
TITLES = {
    "f1": "F1",
    "micro_f1": "micro F1",
    "accuracy": "accuracy",
    "subset_accuracy": "exact match",
    "exact_match": "exact match",
}


def gained(
    found: Sequence[Trial], known: Mapping[tuple[str, str], Earlier] | None = None
) -> Iterator[tuple[Trial, dict[str, float]]]:
    """
    Of each trial the test gain over `own`, in percent, of what each gate chose. The priors are `known` or, without
    these, come from the other data sets of `found`.
    """
    names = {trial.setup.data for trial in found}
    of_data = {data: priors(found, data) if known is None else known for data in names}
    for trial in found:
        earlier = gains_before(trial.setup.family, trial.score, list(trial.tested), of_data[trial.setup.data])
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
        "has the number of cuts. `in hindsight` is the best option on the test data."
    )
    return "\n\n".join(
        [
            told,
            markdown_table(["family", "score", "validation", *GATES, "cuts"], rows),
            "The library's gate less the others, with the standard error over data sets (bootstrap):",
            _differences(of_all),
        ]
    )


def _differences(of_all: list, draws: int = 2000) -> str:
    """Of all cuts of a score, the mean gain of the library's gate less that of each other one."""
    first, *others = GATES
    chance, rows = numpy.random.default_rng(0), []
    for (title,), some in _grouped(of_all, lambda t: (TITLES[t.score],)):
        cells = [title]
        for other in others:
            of_data: dict[str, list[float]] = defaultdict(list)
            for trial, gains in some:
                of_data[trial.setup.data].append(gains[first] - gains[other])
            sums, counts = (numpy.array([by(part) for part in of_data.values()]) for by in (sum, len))
            drawn = chance.integers(len(sums), size=(draws, len(sums)))
            error = (sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)).std()
            cells.append(f"{sums.sum() / counts.sum():+.2f} ± {error:.2f}")
        rows.append(cells)
    return markdown_table(["score", *others], rows)


def noise_table(found: Sequence[Trial], known: Mapping[tuple[str, str], Earlier] = PRIORS) -> str:
    """The same where gold is drawn from the task-nets, by the earlier gains `known`."""
    of_all = list(gained(found, known))
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
    lines = [f"{start}dict[tuple[str, str], Earlier] = {{"]
    for (family, score), earlier in priors(found).items():
        lines += [f'    ("{family}", "{score}"): Earlier(', f'        "{earlier.start}",', "        {"]
        lines += [
            f'            "{name}": Gains({", ".join(f"{v:g}" for v in gains)}),'
            for name, gains in earlier.gains.items()
        ]
        lines += ["        },", "    ),"]
    return head + "\n".join([*lines, "}", ""])
