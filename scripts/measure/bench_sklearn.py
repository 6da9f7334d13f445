"""The benchmark of `seal.sklearn.StructuredClassifier`: its fit and prediction beside those of its classifier alone."""

from collections.abc import Callable, Iterator

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from scripts.measure import classifiers
from scripts.measure.bench_base import Benchmark
from scripts.measure.bench_rows import Row, seconds_rows
from scripts.measure.bench_timing import interleaved
from scripts.measure.suite import UserError
from seal.sklearn import StructuredClassifier

CASES = {
    "fit": "seconds of a fit, against the classifier's own",
    "prediction": "seconds of predicting the test data, against the classifier's own",
}
#: By the names of `classifiers.read`; those whose files are not there are left out.
DATASETS = ("folder:yeast", "folder:medical", "folder:enron", "sample", "text:sample", "genbase")


class SklearnBenchmark(Benchmark):
    """The classifier is one logistic regression a label, with scikit-learn's defaults."""

    cases, methods = CASES, ("classifier", "structured")
    baseline = "classifier"
    data = "of scripts/structure.py"
    description = "logistic regression"

    def fit(self) -> list[Row]:
        return self._rows("fit", lambda model, data: lambda: model.fit(data.train, data.train_gold.astype(int)))

    def prediction(self) -> list[Row]:
        def predicts(model, data: classifiers.Data) -> Callable[[], object]:
            model.fit(data.train, data.train_gold.astype(int))
            return lambda: model.predict(data.test)

        return self._rows("prediction", predicts)

    def _rows(self, case: str, make: Callable[..., Callable[[], object]]) -> list[Row]:
        rows: list[Row] = []
        for name, data in self._datasets():
            alone = OneVsRestClassifier(LogisticRegression())
            models = {"classifier": alone, "structured": StructuredClassifier(alone)}
            calls = {method: make(models[method], data) for method in self._methods}
            rows += seconds_rows("sklearn", f"{case}, {name}", interleaved(calls, self._repeats), 1, self.baseline)
        return rows

    def _datasets(self) -> Iterator[tuple[str, classifiers.Data]]:
        for name in DATASETS:
            try:
                yield name, classifiers.read(name)
            except UserError:
                continue
