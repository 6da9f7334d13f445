from collections.abc import Iterable
from pathlib import Path

from transformers import BertConfig, BertModel, BertTokenizerFast


def save_tiny_bert(folder: Path, words: Iterable[str], **settings) -> Path:
    """A BERT of two layers, 16 wide, with random weights and a vocabulary of the given words, as a local folder."""
    pieces = sorted({word.lower() for word in words} | {f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"})
    letters = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in pieces]
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + pieces
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocab) + "\n", encoding="utf-8")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), do_lower_case=True).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocab),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=512,
        **settings,
    )
    BertModel(config).save_pretrained(folder)
    return folder
