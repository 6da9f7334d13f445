"""scripts/improve_tagger.py: a run with the smallest settings, on the sample of roles."""

import json

import pytest

from scripts import improve_tagger

DATA = improve_tagger.PAGE.parents[1] / "data" / "srl_sample"


def test_frames_are_read_as_the_reader_of_the_package_reads_them():
    from seal.tasks.srl.reader import SrlReader

    path = DATA / "dev.gold_conll"
    expected = [
        ([token.text for token in one["tokens"]], one["metadata"]["tags"])
        for one in SrlReader().read(str(path))
        if len(one["tokens"]) <= 12 and one["metadata"]["predicate"] is not None
    ]
    found = improve_tagger.read_frames(path, 12)
    assert [(frame.words, frame.tags) for frame in found] == expected and len(found) > 100
    assert all(frame.tags[frame.predicate] == "B-V" for frame in found)


@pytest.mark.parametrize("net", improve_tagger.NETS)
def test_a_run_goes_on_and_writes_its_table(net, tmp_path, monkeypatch, capsys):
    page = tmp_path / "taggers.md"
    start = improve_tagger.START.replace("measured:", f"measured, {net} on srl_sample:")
    page.write_text(f"before\n{start}\n\nold\n\n{improve_tagger.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(improve_tagger, "PAGE", page)
    out = tmp_path / "out"
    command = ["--net", net, "--data", str(DATA), "--longest", "8", "--frames", "60", "--epochs", "1"]
    command += ["--out", str(out), "--page"]
    assert improve_tagger.main(command) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{start}\n\n| ") and text.endswith(f"{improve_tagger.END}\nafter\n")
    assert "old" not in text and "60 frames to learn from" in text and "--page" not in text
    result = json.loads((out / f"{net}-1" / "result.json").read_text())
    systems = {"argmax", "own", "f1", "exact_match"}
    assert set(result["counts"]) == systems and {len(rows) for rows in result["counts"].values()} == {
        result["sizes"][2]
    }
    monkeypatch.setattr(improve_tagger, "measure", None)
    assert improve_tagger.main(command) == 0 and page.read_text(encoding="utf-8") == text
    assert improve_tagger.main([*command, "--epochs", "2"]) == 2
    assert "is of other settings" in capsys.readouterr().err
