"""scripts/samples/join_ewt.py, on documents that were made up in the formats of the two repositories."""

import pytest

from scripts.samples import join_ewt
from seal.tasks.srl.data_files import read_srl_sentences

# A sentence: what stands in gold_skel from the part of speech on, and then a word with its part of speech a row.
GIVES = (
    "NNP (TOP(S(NP*) - - * (ARG0*)\nMD (VP* - - * (ARGM-MOD*)\nRB * - - * (ARGM-NEG*)\nVB (VP* give give_up.08 * (V*)\n"
    "RP (PRT*))) - - * (C-V*)\n. *)) - - * * \n",
    "Ada NNP\nca MD\nn't RB\ngive VB\nup RP\n:) NFP\n",
)
YES = "UH (TOP(INTJ*)) - -\n", "Yes UH\n"


def skeleton(*sentences):
    """The text of a file of gold_skel."""
    numbered = [
        "".join(f"google/ewt/a/00/b.xml  {s}  {w}  [WORD]   {row}\n" for w, row in enumerate(rows.splitlines()))
        for s, rows in enumerate(sentences)
    ]
    return "\n".join(numbered) + "\n"


def treebank(*sentences):
    """The text of a file of conllu."""
    texts = []
    for sentence in sentences:
        rows = [row.rpartition(" ") for row in sentence.splitlines()]
        lines = [f"{n}\t{word}\t_\t_\t{tag}\t_\t0\t_\t_\t_" for n, (word, _, tag) in enumerate(rows, start=1)]
        texts.append("\n".join(["# sent_id = x-0001", *lines]) + "\n\n")
    return "".join(texts)


class Clones:
    """The two repositories in a folder, and the command on them."""

    def __init__(self, folder):
        self.propbank, self.ud, self.out = folder / "propbank", folder / "ud", folder / "made" / "ewt"
        for path in (self.propbank / "docs" / "evaluation", self.propbank / join_ewt.FRAMES, self.ud / join_ewt.WORDS):
            path.mkdir(parents=True)
        for part in join_ewt.PARTS:
            self.add(f"reviews/00/{part}.xml", part, skeleton(YES[0]), treebank(YES[1]))

    def add(self, name, part, skeletons, words):
        genre, number, file = name.removesuffix(".conllu").split("/")
        listed = join_ewt.list_of(self.propbank, part)
        listed.write_text((listed.read_text() if listed.exists() else "") + f"{name}\n")
        for folder, ending, text in (
            (self.propbank / join_ewt.FRAMES / genre / number, "gold_skel", skeletons),
            (self.ud / join_ewt.WORDS / genre, "conllu", words),
        ):
            folder.mkdir(parents=True, exist_ok=True)
            if text is not None:
                (folder / f"{file}.{ending}").write_text(text, encoding="utf-8")

    def join(self):
        join_ewt.main([str(self.propbank), str(self.ud), str(self.out)])

    def sentences(self, part):
        return list(read_srl_sentences(str(self.out / f"{part}.gold_conll")))

    def words(self, part):
        return [" ".join(sentence.words) for sentence in self.sentences(part)]


@pytest.fixture
def clones(tmp_path):
    return Clones(tmp_path)


def test_columns(clones):
    words = treebank(GIVES[1]).replace("2\tca\t", "2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_\n2\tca\t")
    words = words.replace("5\tup\t", "4.1\tgave\t_\t_\tVBD\t_\t_\t_\t_\t_\n5\tup\t")
    clones.add("weblog/00/site.com_x.xml.conllu", "dev", skeleton(GIVES[0], YES[0]), words + treebank(YES[1]))
    clones.join()
    name = "weblog-site.com_x"
    rows = [
        "Ada   NNP   (TOP*   -   -   -   -   *   (ARG0*)   -",
        "ca   MD   *   -   -   -   -   *   (ARGM-MOD*)   -",
        "n't   RB   *   -   -   -   -   *   (ARGM-NEG*)   -",
        "give   VB   *   give   08   -   -   *   (V*)   -",
        "up   RP   *   -   -   -   -   *   (C-V*)   -",
        ":-RRB-   .   *)   -   -   -   -   *   *   -",
    ]
    made = (clones.out / "dev.gold_conll").read_text(encoding="utf-8")
    assert made == (
        "#begin document (reviews-dev); part 000\nreviews-dev   0   0   Yes   UH   (TOP*)   -   -   -   -   *   -\n\n"
        f"#end document\n#begin document ({name}); part 000\n"
        + "".join(f"{name}   0   {index}   {row}\n" for index, row in enumerate(rows))
        + f"\n{name}   0   0   Yes   UH   (TOP*)   -   -   -   -   *   -\n\n#end document\n"
    )
    # A column without a verb is none.
    _, given, _ = clones.sentences("dev")
    (frame,) = given.frames
    assert (frame.predicate, frame.lemma, frame.sense) == (3, "give", "08")


@pytest.mark.parametrize(
    "word, written", [("(", "("), (")", ")"), (":(", ":-LRB-"), ("))", "-RRB--RRB-"), ("\\o", "/o")]
)
def test_brackets_in_words(word, written):
    assert join_ewt.readable(word) == written


def test_sentences_that_became_others_are_left_out_and_counted(clones, capsys):
    def both(words, tags, other_tags=None):
        """A sentence of PropBank, and the same of the treebank."""
        tags, words = tags.split(), words.split()
        pairs = zip(words, (other_tags or " ".join(tags)).split())
        return "".join(f"{tag} * - -\n" for tag in tags), "".join(f"{word} {tag}\n" for word, tag in pairs)

    pairs = [
        both("it is far", "PRP VBZ RB"),
        both("they came home late", "PRP VBD RB RB"),  # two sentences now
        both("never mind it", "RB VB PRP", "RB NN PRP"),  # two of three tags
        both("what now", "WP RB", "WP NN"),  # too short to ask for its tags
        both("we sing and you all dance too", "PRP VBP CC PRP DT VBP RB", "PRP VBP CC PRP PDT NN RB"),  # 5 of 7
        both("go", "VB"),
    ]
    words = [text for _, text in pairs]
    words[1:2] = ["they PRP\ncame VBD\n", "home RB\nlate RB\n"]
    clones.add("answers/00/a.xml", "train", skeleton(*(rows for rows, _ in pairs)), treebank(*words))
    clones.add("answers/00/b.xml", "train", None, treebank(YES[1]))
    clones.add("answers/00/c.xml", "train", skeleton(YES[0]), None)
    clones.add("answers/00/d.xml", "train", skeleton(GIVES[0]), treebank(YES[1]))
    clones.join()
    assert clones.words("train") == ["Yes", "it is far", "what now", "we sing and you all dance too", "go"]
    assert "answers-d" not in (clones.out / "train.gold_conll").read_text()
    train, dev, _ = capsys.readouterr().out.splitlines()
    assert train == (
        "train.gold_conll: 5 sentences of 2 documents; left out: sentences whose words are split in another way (2), "
        "sentences whose parts of speech differ (1), documents not in PropBank's release (1), "
        "documents not in the treebank (1)"
    )
    assert dev == "dev.gold_conll: 1 sentences of 1 documents; left out: nothing"


def test_the_pairs_with_the_most_words_that_agree():
    """The first skeleton would fit the second sentence, too."""
    skeletons = [[["", "", "", "", tag] for tag in tags.split()] for tags in ("DT JJ JJ NN", "DT JJ NN NN")]
    sentences = [[("", tag) for tag in tags.split()] for tags in ("DT JJ NN", "DT JJ NN NN", "DT JJ")]
    assert join_ewt.paired(skeletons, sentences) == [None, 1]
    assert join_ewt.paired(skeletons[:1], sentences) == [1]
    assert join_ewt.paired(skeletons, sentences[:1]) == [None, None]


@pytest.mark.parametrize(
    "cells, kept",
    [
        ("(ARG0* *) (V*)", "(ARG0* *) (V*)"),
        ("(ARG1* (V*) *)", "* (V*) *"),
        ("(ARG1* (ARG2*) *) (V*)", "(ARG1* * *) (V*)"),
        ("(ARG1*(ARG2*) *) (V*)", "(ARG1* *) (V*)"),
        ("(V*) (ARG1* (ARG2* *) *))", "(V*) (ARG1* * * *)"),
        ("(V*) *) (ARG1*", "(V*) * *"),
    ],
)
def test_arguments_that_overlap(cells, kept):
    assert join_ewt.bracket_column(join_ewt.spans(cells.split()), len(kept.split())) == kept.split()


def test_a_lemma_stands_where_its_verb_begins(clones):
    rows = "GW * - - (V*\nVB * overpower overpower.01 *)\nNN * - - (ARG1*)\n"
    clones.add("email/00/a.xml", "dev", skeleton(rows), treebank("over GW\npower VB\nsalt NN\n"))
    clones.join()
    (frame,) = clones.sentences("dev")[1].frames
    assert frame.tags == ["B-V", "I-V", "B-ARG1"] and frame.lemma is None


@pytest.mark.parametrize(
    "missing, told",
    [
        ("propbank/docs/evaluation/ewt.dev.txt", "propbank/propbank-release"),
        ("propbank/data/google/ewt", "propbank/propbank-release"),
        ("ud/not-to-release/sources", "UniversalDependencies/UD_English-EWT"),
    ],
)
def test_what_is_missing_is_told_with_its_repository(clones, tmp_path, capsys, missing, told):
    (tmp_path / missing).rename(tmp_path / "elsewhere")
    with pytest.raises(SystemExit, match="2"):
        clones.join()
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.endswith(f"there is no {tmp_path / missing}: this takes a clone of github.com/{told}.")
    assert not clones.out.exists()
