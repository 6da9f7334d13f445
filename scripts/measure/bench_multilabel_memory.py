"""
What has to be measured in a process of its own: the peak memory of training steps, and of reading a file.

    python -m scripts.measure.bench_multilabel_memory steps THREADS DATASET METHOD
    python -m scripts.measure.bench_multilabel_memory implicit THREADS VARIANT
    python -m scripts.measure.bench_multilabel_memory load THREADS ARFF_FILE LABEL_XML CACHE
"""

import json
import os
import sys
import time
from itertools import islice

from scripts.measure.own_process import STEPS, peak_memory, peaks_of


def measure(what: str, threads: int, *arguments: str) -> dict[str, float]:
    """
    Measures in this process, which must not have done anything else. `peak` is the peak memory in MiB, and `added` the
    same less what was in use before (the imports, and for steps the data). For `load`, there are `seconds`,
    `cpu_seconds` and `rows`, too.
    """
    import seal  # noqa: F401, I001
    import torch

    from scripts.measure import bench_multilabel_parts as parts
    from scripts.measure.bench_timing import train_epoch
    from seal.dataset_readers.multilabel import MultilabelReader

    torch.set_num_threads(threads)
    if what == "load":
        path, xml, cache = arguments
        os.environ["SEAL_CACHE"] = cache
        before, wall, cpu = peak_memory(), time.perf_counter(), time.process_time()
        table = MultilabelReader(label_xml=xml).read_table(path)
        found = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        return {**found, "peak": peak_memory(), "added": peak_memory() - before, "rows": float(len(table))}
    if what == "implicit":
        from scripts.measure import bench_implicit_parts as implicit

        batches = implicit.random_batches(STEPS)
        return peaks_of(lambda: train_epoch(implicit.build_trainer(arguments[0], batches)))
    dataset, method = arguments
    batches = list(islice(parts.read_split(dataset), STEPS))
    return peaks_of(lambda: train_epoch(parts.build_trainer(dataset, method, batches, **parts.ONE_STEP)))


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])))
