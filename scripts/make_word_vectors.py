"""\
Write a vector of each word of data files, from a pretrained transformer, as a text file that word embeddings load."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm

from scripts.measure.command import at_least_one, check_file, exit_status, mistakes_of_the_library
from scripts.measure.files import atomic_write
from scripts.measure.suite import ROOT, UserError

EPILOG = """\
A word's vector is the mean, over its pieces, of their vectors in a layer of the transformer when it reads the word
alone (Bommasani et al. 2020: static words of a contextual model). Words are in lower case, each once, the most
frequent first. Tags are not used, so the files of test may be given, too: published vectors also cover their words.

example:
  python scripts/make_word_vectors.py training_configs/twitter_pos/cross_entropy.jsonnet data/twitter_pos/oct27.* \\
      --encoder FOLDER --out results/vectors/twitter_pos.txt
The config of a run then says where they are, and how many numbers a word has:
  tagging.encoder.bilstm(vectors='results/vectors/twitter_pos.txt', word_dim=384)
"""
# The pieces of a word that are read at most; only a web address or a long run of laughter has more.
MAX_PIECES = 128


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("config", type=Path, metavar="CONFIG", help="of a training, whose dataset_reader reads the files")
    add("data", type=Path, nargs="+", metavar="DATA", help="files of text")
    add("--encoder", required=True, help="a transformer's name on the hub, or a local folder")
    add("--out", type=Path, required=True, metavar="FILE", help="the file: a line with both sizes, then one a word")
    add("--layer", type=int, default=0, help="0: the embeddings, before the first layer (default: %(default)s)")
    add("--batch-size", type=int, default=256, help="words at a time (default: %(default)s)")
    add("--threads", type=int, default=1, help="(default: %(default)s)")
    return result


def words_of(config: Path, data: list[Path]) -> list[str]:
    """The words of the files in lower case, the most frequent first; words of equal counts as they first occur."""
    from collections import Counter

    from allennlp.common import Params
    from allennlp.data import DatasetReader, Instance

    import seal.plugin  # noqa: F401

    def tokens(instance: Instance) -> Iterator[str]:
        if "tokens" not in instance:
            raise UserError(f"{config}: its dataset_reader reads no words.")
        if any(token.text_id is not None for token in instance["tokens"]):
            raise UserError(f"{config}: its dataset_reader reads word pieces; take a config whose encoder reads words.")
        return (token.text.lower() for token in instance["tokens"])

    with chdir(ROOT):
        reader = DatasetReader.from_params(Params.from_file(str(config)).pop("dataset_reader"))
        counts = Counter(word for path in data for instance in reader.read(str(path)) for word in tokens(instance))
    # In the file of vectors, a blank ends the word.
    return [word for word, _ in counts.most_common() if word and not any(letter.isspace() for letter in word)]


def load(encoder: str, layer: int) -> Any:
    """The tokenizer, and the transformer in evaluation mode."""
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer, model = AutoTokenizer.from_pretrained(encoder), AutoModel.from_pretrained(encoder)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"--encoder: '{encoder}' is not a transformer that is available here ({reason}).") from error
    layers = model.config.num_hidden_layers
    if not 0 <= layer <= layers:
        raise UserError(f"--layer: from 0 to {layers} for this transformer, not {layer}.")
    return tokenizer, model.eval()


def vectors(words: list[str], tokenizer: Any, model: Any, layer: int) -> Any:
    """`(words, size)`: the mean of a layer over the pieces of each word, the special ones left out."""
    import torch

    pieces = tokenizer(
        words,
        padding=True,
        truncation=True,
        max_length=MAX_PIECES,
        return_tensors="pt",
        return_special_tokens_mask=True,
    )
    special = pieces.pop("special_tokens_mask").bool()
    with torch.no_grad():
        hidden = model(**pieces, output_hidden_states=True).hidden_states[layer]
    inside = (~special).unsqueeze(-1).to(hidden.dtype)
    return (hidden * inside).sum(dim=1) / inside.sum(dim=1).clamp(min=1)


def run(arguments: argparse.Namespace) -> str:
    import torch

    at_least_one(arguments, "batch_size", "threads")
    check_file("out", arguments.out)
    for path in (arguments.config, *arguments.data):
        if not path.exists():
            raise UserError(f"there is no {path}.")
    torch.set_num_threads(arguments.threads)
    with mistakes_of_the_library():
        words = words_of(arguments.config.absolute(), [path.absolute() for path in arguments.data])
    if not words:
        raise UserError(f"{', '.join(str(path) for path in arguments.data)}: there is no word.")
    tokenizer, model = load(arguments.encoder, arguments.layer)
    size = model.config.hidden_size
    with atomic_write(arguments.out) as draft, open(draft, "w", encoding="utf-8") as handle:
        handle.write(f"{len(words)} {size}\n")
        with tqdm(total=len(words), desc="words", unit="word", dynamic_ncols=True) as bar:
            for start in range(0, len(words), arguments.batch_size):
                batch = words[start : start + arguments.batch_size]
                for word, vector in zip(batch, vectors(batch, tokenizer, model, arguments.layer).tolist()):
                    handle.write(word + " " + " ".join(f"{number:.5g}" for number in vector) + "\n")
                bar.update(len(batch))
    return f"{arguments.out}: {len(words)} words of {size} numbers"


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    return exit_status(lambda: print(run(arguments)))


if __name__ == "__main__":
    sys.exit(main())
