"""
Learning from a part of the labels (`--fraction`), with the inputs of the rest without theirs: roles, tags, labels of
texts and of feature vectors. Training is counted in updates, 100 an epoch. A student has as many as its teacher, so
that self-training has as many as the plain net with twice as many; with the three folds of a structure it has as many
as that with five times as many. With all labels (`--fraction 1`) a student is distilled from what its teacher says of
the training data.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Optional

from scripts.measure.configs import call, imported, listed, with_overrides
from scripts.measure.suite import Method, Settings, Suite
from scripts.measure.suites import multilabel, tagging
from scripts.measure.suites import text as texts
from scripts.measure.suites.srl import COMMON, data, labels

#: The methods that have more updates than the others: how their names end, and how many times.
TIMES = {"_twice": 2, "_five_times": 5}


@dataclass(frozen=True)
class Task:
    #: As in `training_configs/lib`.
    library: str
    dataset: str
    #: The method below the structure, and its title.
    plain: str
    title: str
    encoder: str
    #: Settings beside the number of updates; jsonnet values.
    training: dict[str, object]
    #: The number of training instances; `None` where the library has a `fraction`.
    size: Optional[int] = None

    def methods(self) -> dict[str, tuple[str, str]]:
        """Titles and calls, by name."""
        of, plain, title = f"{self.library}.method", self.plain, self.title
        # Of feature vectors methods are named.
        over = f"over='{plain}'" if self.library == "multilabel" else f"over={of}.{plain}()"
        return {
            plain: (title, f"{of}.{plain}()"),
            f"{plain}_twice": (f"{title}, twice the updates", f"{of}.{plain}()"),
            f"{plain}_five_times": (f"{title}, five times the updates", f"{of}.{plain}()"),
            "structured": (f"structure on {title}", f"{of}.structured()"),
            f"self_training_{plain}": (f"self-training, {title}", f"{of}.self_training({over})"),
            f"self_training_{plain}_hard": (f"self-training, {title}, hard", f"{of}.self_training({over}, hard=true)"),
            "self_training": ("self-training, structured", f"{of}.self_training()"),
            "self_training_hard": ("self-training, structured, hard", f"{of}.self_training(hard=true)"),
            "distilled": ("structured, distilled: the net alone", f"{of}.distilled()"),
        }

    def experiment(self, name: str, settings: Settings) -> str:
        library, path = self.library, f"{self.library}.data.{self.dataset}"
        times = next((number for end, number in TIMES.items() if name.endswith(end)), 1)
        training = {"epochs": settings.epochs * times, "batches_per_epoch": 100, "seed": settings.seed, **self.training}
        if self.size is None:
            training["fraction"] = repr(settings.fraction)
        base = "" if library == "multilabel" else f"{library}.training.{self.dataset} "
        config = imported(library) + call(
            f"{library}.experiment",
            {
                "data": f"{path} {{ unlabelled: {path}.train }}",
                "encoder": self.encoder,
                "method": self.methods()[name][1],
                "training": f"{base}{{ {listed(': ', training)} }}",
            },
        )
        if self.size is None:
            # A part of the sentences may lack labels of dev or test.
            return with_overrides(config, {"vocabulary.tokens_to_add": {"srl_tags": labels(self.dataset)}})
        # The first ones; the validation data stay whole.
        return (
            f"{config.rstrip()} + {{\n"
            f"  dataset_reader+: {{ max_instances: {round(settings.fraction * self.size)} }},\n"
            "  validation_dataset_reader: super.dataset_reader,\n}\n"
        )

    def suite(self, name: str, title: str, base: Suite, epochs: int) -> Suite:
        """That of the whole data, with the methods of few labels."""
        methods = self.methods()
        return replace(
            base,
            name=name,
            title=title,
            methods={method: Method(methods[method][0], partial(self.experiment, method)) for method in methods},
            epochs=epochs,
            baseline=self.plain,
            default_splits=None,
            takes_encoder=False,
            takes_fraction=True,
            setting_names=None,
            family=None,
        )


CRF, INDEPENDENT = ("crf", "CRF"), ("cross_entropy", "cross-entropy")
ROLES = Task("srl", "sample", *CRF, "srl.encoder.bilstm(word_dropout=0.25)", {})
TAGS = Task("tagging", "twitter_pos", *CRF, "tagging.encoder.bilstm(word_dropout=0.25)", {"patience": "null"}, 1000)
TEXTS = Task("text", "sample", *INDEPENDENT, "text.encoder.cnn()", {}, 500)
# Each with the network that the library has for the data set, and the learning rate that cross-entropy has there.
SETS = Task(
    "multilabel",
    "sample",
    *INDEPENDENT,
    "multilabel.encoder.mlp(hidden_dim=200, num_layers=1)",
    {"patience": "null", "task_net_lr": 0.002},
    800,
)
BIBTEX = Task(
    "multilabel", "bibtex", *INDEPENDENT, "multilabel.encoder.mlp()", {"patience": "null", "task_net_lr": 0.005}, 4433
)
ROLES_BASE = Suite("", "sample", "", {}, partial(data, "sample"), 16, **COMMON)
SUITES = [
    ROLES.suite("few_labels", "semantic role labelling from few labels, made-up sample, BiLSTM", ROLES_BASE, 16),
    TAGS.suite("few_labels_tags", "tags of tweets from few labels, BiLSTM", tagging.suite("twitter_pos"), 8),
    TEXTS.suite(
        "few_labels_texts", "labels of texts from few labels, made-up sample, convolution", texts.suite("sample"), 16
    ),
    SETS.suite("few_labels_sets", "label sets from few labels, made-up sample", multilabel.suite("sample"), 16),
    BIBTEX.suite("few_labels_bibtex", "label sets from few labels, bibtex", multilabel.suite("bibtex"), 16),
]
