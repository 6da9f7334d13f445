"""Token classifiers of Hugging Face, small and made here, with `StructuredTagger` on top."""

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForTokenClassification, BertTokenizer, pipeline

from seal.registry import ConfigurationError
from seal.tagger import StructuredTagger, log_probabilities
from seal.tagger.token_classification import emissions_of, entities
from tests.tiny_bert import save_tiny_bert

LABELS = ["O", "I-A", "I-B"]
WORDS = "anna sells honey and ginger cakes in the market near paris today".split()
SENTENCES = [[WORDS[(start + step * at) % 12] for at in range(4 + start % 3)] for start in range(12) for step in (1, 5)]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    # Words that are not in the vocabulary are cut into letters.
    return AutoTokenizer.from_pretrained(save_tiny_bert(tmp_path_factory.mktemp("bert"), WORDS[:8]))


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.5,
        id2label=dict(enumerate(LABELS)),
        label2id={label: number for number, label in enumerate(LABELS)},
    )
    return BertForTokenClassification(config)


@pytest.fixture(scope="module")
def tagger(model, tokenizer):
    emissions = emissions_of(model, tokenizer, SENTENCES)
    gold = [["I-A" if at == 1 else "O" for at in range(len(words))] for words in SENTENCES]
    return StructuredTagger(model.config.id2label, "IO").fit(emissions, gold, valid=0.4)


def test_emissions_are_the_logits_of_the_first_piece_of_each_word(model, tokenizer):
    found = emissions_of(model, tokenizer, SENTENCES, batch_size=5)
    assert not model.training or model.train() is model
    for words, scores in zip(SENTENCES, found):
        pieces = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
        ids = [tokenizer.cls_token_id, *(piece for word in pieces for piece in word), tokenizer.sep_token_id]
        with torch.no_grad():
            logits = model.eval()(torch.tensor([ids])).logits[0]
        place, expected = 1, []
        for word in pieces:
            expected.append(logits[place])
            place += len(word)
        assert torch.allclose(scores, torch.stack(expected), atol=1e-5)
    assert any(len(tokenizer(word, add_special_tokens=False)["input_ids"]) > 1 for word in WORDS)


def test_a_word_without_a_token_and_an_empty_sentence_have_rows(model, tokenizer):
    first, second = emissions_of(model, tokenizer, [["anna", "\u200b", "sells"], []])
    assert first.shape == (3, 3) and not first[1].any() and first[0].any() and second.shape == (0, 3)


def test_entities_are_those_of_the_pipeline_where_the_energy_gains_nothing(model, tokenizer, tagger):
    own = pipeline("token-classification", model=model, tokenizer=tokenizer, aggregation_strategy="first", device="cpu")
    texts = [" ".join(words).capitalize() + "." for words in SENTENCES]
    chosen = dict(tagger.structure_.chosen)
    tagger.structure_.chosen = dict.fromkeys(chosen, "own")
    try:
        found = entities(model, tokenizer, texts, tagger, batch_size=7)
    finally:
        tagger.structure_.chosen = chosen

    def places(entities):
        return [[(one["entity_group"], one["start"], one["end"]) for one in each] for each in entities]

    expected = places(map(own, texts))
    assert places(found) == expected
    assert sum(map(len, expected)) > 10
    for text, each in zip(texts, found):
        for one in each:
            assert text[one["start"] : one["end"]] == one["word"] and 0 <= one["score"] <= 1.0001


def words_of(entities):
    return [[word for one in each for word in one["word"].split()] for each in entities]


def words_that_are_tagged(sentences):
    return [[word for word, tag in zip(words, tags) if tag != "O"] for words, tags in zip(SENTENCES, sentences)]


def test_entities_follow_the_energy(model, tokenizer, tagger):
    tagger.structure_.chosen = dict.fromkeys(tagger.structure_.chosen, "likeliest")
    predicted = tagger.predict(emissions_of(model, tokenizer, SENTENCES))
    found = entities(model, tokenizer, [" ".join(words) for words in SENTENCES], tagger)
    assert words_of(found) == words_that_are_tagged(predicted)
    assert predicted != tagger.predict(emissions_of(model, tokenizer, SENTENCES), own=True)


def test_entities_by_a_tagger_that_knows_words(model, tokenizer):
    emissions = emissions_of(model, tokenizer, SENTENCES)
    gold = [["I-A" if word in ("anna", "paris") else "O" for word in words] for words in SENTENCES]
    tagger = StructuredTagger(model.config.id2label, "IO").fit(emissions, gold, words=SENTENCES)
    tagger.structure_.chosen = dict.fromkeys(tagger.structure_.chosen, "likeliest")
    found = entities(model, tokenizer, [" ".join(words) for words in SENTENCES], tagger)
    assert words_of(found) == words_that_are_tagged(tagger.predict(emissions, words=SENTENCES))
    assert any(found)


def test_a_long_sentence_is_read_in_windows_that_overlap(model, tokenizer):
    words = [WORDS[place * 5 % 8] for place in range(100)]  # Of one piece each.
    short, found, empty = emissions_of(model, tokenizer, [["anna"], words, []], batch_size=3)
    assert torch.allclose(short, emissions_of(model, tokenizer, [["anna"]])[0], atol=1e-5) and empty.shape == (0, 3)
    # 38 words between the special tokens of 40; 9 of them are also in the next window.
    starts = [0, 29, 58, 87]
    windows = [words[start : start + 38] for start in starts]
    assert [len(window) for window in windows] == [38, 38, 38, 13]
    alone = emissions_of(model, tokenizer, windows)
    for place in range(100):
        # In the first and in the last window, the end of the text is no border.
        inside = {
            number: min(
                place - start if number else 100, start + len(window) - 1 - place if number < len(starts) - 1 else 100
            )
            for number, (start, window) in enumerate(zip(starts, windows))
            if start <= place < start + len(window)
        }
        of_best = [alone[number][place - starts[number]] for number in inside if inside[number] == max(inside.values())]
        assert any(torch.allclose(found[place], row, atol=1e-5) for row in of_best)


def test_entities_of_a_long_text_have_their_places_in_it(model, tokenizer, tagger):
    text = " ".join(WORDS[place * 5 % 12] for place in range(80))
    (found,) = entities(model, tokenizer, [text], tagger, batch_size=2)
    assert max(one["start"] for one in found) > len(text) / 2
    assert all(text[one["start"] : one["end"]] == one["word"] for one in found)


def test_what_cannot_be_read_is_told(model, tokenizer):
    slow = BertTokenizer.from_pretrained(tokenizer.name_or_path)
    with pytest.raises(ConfigurationError, match="BertTokenizer"):
        emissions_of(model, slow, SENTENCES)


def test_marginals_of_a_crf_are_emissions():
    crfsuite = pytest.importorskip("sklearn_crfsuite", reason="sklearn-crfsuite is in requirements-measure.txt alone")
    features = [[{"word": word, "first": at == 0} for at, word in enumerate(words)] for words in SENTENCES]
    gold = [["I-A" if word in ("anna", "paris") else "O" for word in words] for words in SENTENCES]
    crf = crfsuite.CRF(max_iterations=20, all_possible_transitions=True).fit(features, gold)
    labels = list(crf.classes_)
    emissions = log_probabilities(crf.predict_marginals(features), labels)
    assert all(row.exp().sum(dim=1).allclose(torch.ones(len(row)), atol=1e-4) for row in emissions)
    tagger = StructuredTagger(labels, "IO").fit(emissions, gold)
    assert tagger.predict(emissions, own=True) == [crf.predict_single(sentence) for sentence in features]


def test_a_tagger_of_spacy_gives_emissions():
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc
    from spacy.training import Example

    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("tagger")
    docs = [Doc(nlp.vocab, words=words) for words in SENTENCES]
    gold = [["N" if word in ("anna", "honey", "paris") else "X" for word in words] for words in SENTENCES]
    examples = [Example.from_dict(doc, {"tags": tags}) for doc, tags in zip(docs, gold)]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.update(examples, sgd=optimizer)
    # The lines of docs/taggers.md.
    emissions = pipe.model.predict(docs)
    tagger = StructuredTagger(pipe.labels, None).fit(emissions, gold)
    list(pipe.pipe(docs))
    assert tagger.predict(emissions, own=True) == [[token.tag_ for token in doc] for doc in docs]


@pytest.mark.parametrize("use_crf", [False, True])
def test_a_tagger_of_flair_gives_emissions(use_crf):
    flair = pytest.importorskip("flair", reason="flair installs beside requirements.txt with `--no-deps` alone")
    from flair.data import Dictionary, Sentence
    from flair.embeddings import OneHotEmbeddings
    from flair.models import SequenceTagger

    flair.device = torch.device("cpu")
    torch.manual_seed(0)
    gold = [["S-A" if word in ("anna", "paris") else "O" for word in words] for words in SENTENCES]
    known, kinds = Dictionary(add_unk=True), Dictionary(add_unk=False)
    for word in sorted({word for words in SENTENCES for word in words}):
        known.add_item(word)
    kinds.add_item("A")
    kinds.span_labels = True
    embeddings = OneHotEmbeddings(known, embedding_length=8)
    of_flair = SequenceTagger(embeddings, kinds, "ner", tag_format="BIOES", hidden_size=8, use_crf=use_crf)
    sentences = [Sentence(words, use_tokenizer=False) for words in SENTENCES]
    for sentence, tags in zip(sentences, gold):
        for token, tag in zip(sentence, tags):
            if tag != "O":
                sentence[token.idx - 1 : token.idx].add_label("ner", "A")
    optimizer = torch.optim.Adam(of_flair.parameters(), lr=0.02)
    for _ in range(20):
        for sentence in sentences:
            sentence.clear_embeddings()
        optimizer.zero_grad()
        of_flair.forward_loss(sentences)[0].backward()
        optimizer.step()
    # The lines of docs/taggers.md.
    labels = [label for label in of_flair.label_dictionary.get_items() if label[0] != "<"]
    sentences = [Sentence(words, use_tokenizer=False) for words in SENTENCES]
    of_flair.predict(sentences, return_probabilities_for_all_classes=True)
    emissions = log_probabilities(
        [[{p.value: p.score for p in token.get_tags_proba_dist("ner")} for token in s] for s in sentences], labels
    )
    tagger = StructuredTagger(labels, "BIOES").fit(emissions, gold)
    own = tagger.predict(emissions, own=True)
    assert words_that_are_tagged(own) == [
        [label.data_point.text for label in sentence.get_labels("ner")] for sentence in sentences
    ]
    assert any(tag != "O" for tags in own for tag in tags)
