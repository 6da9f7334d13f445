"""References of our own for the tests of citation fields, with their tags."""

REFERENCES = [
    (
        "A . Miller and B . Stone . On the width of bridges . In Proceedings of the Third Conference on Rivers , "
        "pages 12-24 , Berlin , May 1991 .",
        "author*8 title*6 booktitle*9 pages*3 location*2 date*3",
    ),
    (
        "Hill , C . (1987) . A theory of quiet rooms . Journal of Acoustics , 7 (2) , 101-120 .",
        "author*4 date*2 title*6 journal*4 volume*3 pages*2",
    ),
    (
        "D . Reed , `` Wells and walls , '' Technical Report 14 , Department of Geology , University of Norwich , "
        "1979 .",
        "author*4 title*6 tech*4 institution*8 date*2",
    ),
    (
        "E . Marsh and F . Brook . Growing reeds . Wiley , London , 1990 .",
        "author*8 title*3 publisher*2 location*2 date*2",
    ),
    ("G . Lane . Slow clocks , submitted to Time , 1996 .", "author*4 title*3 note*4 date*2"),
    ("H . Ford , editor . Old locks . Academic Press , 1988 .", "editor*6 title*3 publisher*3 date*2"),
]


def reference(index):
    """Its words and tags."""
    words, runs = REFERENCES[index]
    tags = [tag for run in runs.split() for tag in [run.split("*")[0]] * int(run.split("*")[1])]
    assert len(words.split()) == len(tags)
    return words.split(), tags


TAGS = sorted({tag for index in range(len(REFERENCES)) for tag in reference(index)[1]})


def write_references(path, rows=range(len(REFERENCES))):
    """In columns, as Cora is."""
    sentences = ["\n".join(f"{word} {tag}" for word, tag in zip(*reference(row))) for row in rows]
    path.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    return path
