"""Pretrained tokenizers of every family, small and made here, each as a local folder."""

import io
from pathlib import Path

import sentencepiece
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    AlbertTokenizer,
    AlbertTokenizerFast,
    GPT2Tokenizer,
    GPT2TokenizerFast,
    RobertaTokenizer,
    RobertaTokenizerFast,
    T5Tokenizer,
    T5TokenizerFast,
    XLMRobertaTokenizer,
    XLMRobertaTokenizerFast,
    XLNetTokenizer,
    XLNetTokenizerFast,
)

from tests.tiny_bert import save_tiny_bert

TEXT = [
    "Anna sells honey and ginger in the market.",
    "Why did n't Anna buy the well-known ginger?",
    "The old cook gave her a knife, and 1 or 2 honey cakes.",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9",
] * 4

#: A slow and a fast class of each family, by a name.
FAMILIES: dict[str, tuple] = {
    "wordpiece": (None, None),
    "roberta": (RobertaTokenizer, RobertaTokenizerFast),
    "gpt2": (GPT2Tokenizer, GPT2TokenizerFast),
    "xlm_roberta": (XLMRobertaTokenizer, XLMRobertaTokenizerFast),
    "albert": (AlbertTokenizer, AlbertTokenizerFast),
    "xlnet": (XLNetTokenizer, XLNetTokenizerFast),
    "t5": (T5Tokenizer, T5TokenizerFast),
}


def save_tokenizer(family: str, fast: bool, folder: Path) -> Path:
    """A folder with a tokenizer, from which `AutoTokenizer` loads it."""
    folder.mkdir(parents=True, exist_ok=True)
    if family == "wordpiece":
        return save_tiny_bert(folder, " ".join(TEXT).split())
    if family in ("roberta", "gpt2"):
        bpe = ByteLevelBPETokenizer()
        special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"]
        bpe.train_from_iterator(TEXT, vocab_size=400, min_frequency=2, special_tokens=special)
        bpe.save_model(str(folder))
        files = [str(folder / "vocab.json"), str(folder / "merges.txt")]
    else:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT),
            model_writer=model,
            vocab_size=90,
            model_type="bpe" if family == "xlnet" else "unigram",
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / "spiece.model").write_bytes(model.getvalue())
        files = [str(folder / "spiece.model")]
    slow, quick = FAMILIES[family]
    tokenizer = slow(*files)
    tokenizer.save_pretrained(folder)
    if fast:
        quick.from_pretrained(folder).save_pretrained(folder)
    return folder
