import json
import sys

from scripts.measure import frame_rules

WORDS = "they asked him to leave at once".split()
GOLD = {
    1: "B-ARG0 B-V B-ARG1 B-ARG2 I-ARG2 I-ARG2 I-ARG2",
    4: "O O B-ARG0 O B-V B-ARGM-TMP I-ARGM-TMP",
}
# "him to" crosses "to leave at once"; its core role is wrong, too.
PREDICTED = {**GOLD, 4: "O O B-ARG3 I-ARG3 B-V B-ARGM-TMP I-ARGM-TMP"}


def frame(index, tags):
    return {"pred": index, "tags": tags[index].split(), "lemma": {1: "ask", 4: "leave"}[index]}


def test_what_a_rule_could_gain(tmp_path, monkeypatch, capsys):
    gold, train, predictions = (tmp_path / name for name in ("gold.jsonl", "train.jsonl", "predictions.jsonl"))
    gold.write_text(json.dumps({"words": WORDS, "frames": [frame(1, GOLD), frame(4, GOLD)]}) + "\n")
    # "leave" has five frames, "ask" has one.
    train.write_text(json.dumps({"words": WORDS, "frames": [frame(1, GOLD), frame(4, GOLD)]}) + "\n")
    with train.open("a") as lines:
        lines.write((json.dumps({"words": WORDS, "frames": [frame(4, GOLD)]}) + "\n") * 4)
    with predictions.open("w") as lines:
        for index, tags in PREDICTED.items():
            frames = [{"index": index, "tags": tags.split()}]
            lines.write(json.dumps({"id": f"{gold}:1", "predicates": "given", "frames": frames}) + "\n")
        lines.write(json.dumps({"id": f"{gold}:1", "predicates": "found", "frames": []}) + "\n")
    monkeypatch.setattr(sys, "argv", ["", "--train", str(train), "--dev", str(gold), str(predictions)])
    frame_rules.main()
    rows = [[cell.strip() for cell in line.split("|")[2:-1]] for line in capsys.readouterr().out.splitlines()[2:]]
    # Of five arguments four are right, and one frame of two.
    now, all_right = "80.00, 50.00", "100.00, 100.00"
    assert rows == [
        ["no crossing arguments", "0; 2", now, all_right],
        ["a lexicon of lemmas with 5 or more frames in train", "0; 1", now, all_right],
        ["a lexicon of all lemmas, by train and dev", "0; 1", now, all_right],
    ]
