"""
The peak memory of a few training steps, in a process of its own:

    python -m scripts.measure.bench_srl_memory METHOD ENCODER_FOLDER THREADS ROWS_FILE
"""

import json
import sys
from pathlib import Path

import torch
from allennlp.data import Vocabulary

import seal.plugin  # noqa: F401, I001
from scripts.measure import bench_srl_parts as parts
from scripts.measure.bench_timing import train_epoch
from scripts.measure.own_process import STEPS, in_own_process, peaks_of
from seal.tasks.srl.data_files import SrlSentence


def memory_of_steps(method: str, encoder: str, threads: int, rows: Path) -> dict[str, float]:
    """`peak`, and less what the imports and the data take, `added`, in MiB; `rows` is a file of `write_longest`."""
    return in_own_process("bench_srl_memory", method, encoder, str(threads), str(rows))


def write_longest(sentences: list[SrlSentence], vocab: Vocabulary, path: Path) -> None:
    """
    Writes the rows of the longest sentences, which decide whether a run fits into memory, and the labels. They have a
    file of their own, since reading the whole data set can take more memory than the training of a small model, which
    would not show then.
    """
    longest = sorted(sentences, key=lambda sentence: -len(sentence.words))
    rows = [[item.words, frame.predicate, frame.tags] for item in longest for frame in item.frames]
    labels = list(vocab.get_token_to_index_vocabulary("srl_tags"))
    path.write_text(json.dumps({"labels": labels, "rows": rows[: STEPS * parts.BATCH_SIZE]}), encoding="utf-8")


def measure(method: str, encoder: str, threads: int, path: Path) -> dict[str, float]:
    """As `memory_of_steps`, measured in this process, which must not have done anything else."""
    torch.set_num_threads(threads)
    content = json.loads(path.read_text(encoding="utf-8"))
    vocab, reader = Vocabulary(tokens_to_add={"srl_tags": content["labels"]}), parts.build_reader(encoder)
    instances = []
    for words, predicate, tags in content["rows"]:
        instances.append(reader.text_to_instance(words=words, predicate=predicate, tags=tags))
        reader.apply_token_indexers(instances[-1])

    def steps() -> None:
        model = parts.build_model(method, encoder, vocab)
        train_epoch(parts.build_trainer(method, model, instances, encoder, 1e-5))

    return peaks_of(steps)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))))
