"""
What has to be measured in a process of its own: the peak memory of training steps, and of reading a file.

    python -m scripts.measure.bench_multilabel_memory steps THREADS DATASET METHOD
    python -m scripts.measure.bench_multilabel_memory implicit THREADS VARIANT
    python -m scripts.measure.bench_multilabel_memory load THREADS ARFF_FILE LABEL_XML
"""

import json
import subprocess
import sys
import time
from typing import Dict

from scripts.measure.suite import ROOT

STEPS = 3


def in_own_process(*arguments: str) -> Dict[str, float]:
    """`peak` and, less what was there before (the imports, the data of steps), `added`, in MiB; `seconds`."""
    command = [sys.executable, "-m", "scripts.measure.bench_multilabel_memory", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} could not be measured:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(what: str, threads: int, *arguments: str) -> Dict[str, float]:
    """In this process, which must not have done anything else."""
    import seal  # noqa: F401, I001
    import torch

    from scripts.measure import bench_multilabel_parts as parts
    from scripts.measure.bench_memory import MIB, _peak
    from scripts.measure.bench_timing import train_epoch
    from seal.dataset_readers.multilabel import MultilabelReader

    torch.set_num_threads(threads)
    if what == "load":
        path, xml = arguments
        before, wall, cpu = _peak(), time.perf_counter(), time.process_time()
        table = MultilabelReader(label_xml=xml).read_table(path)
        found = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        return {**found, "peak": _peak(), "added": _peak() - before, "rows": float(len(table))}
    if what == "implicit":
        from scripts.measure import bench_implicit_parts as implicit

        batches = implicit.random_batches(STEPS)
        before = _peak()
        train_epoch(implicit.build_trainer(arguments[0], batches))
    else:
        dataset, method = arguments
        loader = parts.read_split(dataset)
        batches = [batch for batch, _ in zip(loader, range(STEPS))]
        before = _peak()
        train_epoch(parts.build_trainer(dataset, method, batches, **parts.ONE_STEP))
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / MIB
        return {"peak": peak, "added": peak}
    return {"peak": _peak(), "added": _peak() - before}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])))
