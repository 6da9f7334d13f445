"""The title of a benchmark's encoder, and a BERT with random weights for timings without a pretrained one."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Optional

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = 30522
"""As many pieces as the uncased English BERT models have: their embeddings cost time in the optimizer."""


def title_of(encoder: Optional[str], layers: int, width: int) -> str:
    """The encoder in the title of a figure: of a local folder the last two names, not where it is on this machine."""
    if encoder is None:
        return f"random BERT, {layers} layers, {width} wide"
    return "/".join(Path(encoder).parts[-2:])


def save_random_bert(folder: Path, words: Iterable[str], layers: int, width: int, seed: int = 0) -> str:
    """
    Weights drawn with a fixed seed, and a vocabulary of the most frequent words and all letters of `words`,
    so that a rare word is several pieces, as for a trained one. Returns the folder's name.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    counts = Counter(word.lower() for word in words)
    letters = sorted({letter for word in counts for letter in word})
    pieces = SPECIAL + letters + [f"##{letter}" for letter in letters]
    frequent = [word for word, count in counts.most_common() if count > 1 and len(word) > 1]
    pieces += frequent[: VOCABULARY - len(pieces)]
    pieces += [f"[unused{index}]" for index in range(VOCABULARY - len(pieces))]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=max(1, width // 32),
        intermediate_size=4 * width,
    )
    torch.manual_seed(seed)
    BertModel(config).save_pretrained(folder)
    return str(folder)
