"""An ARFF file with an attribute of each kind, and three rows."""

HEADER = (
    "@relation r\n@attribute red {0,1}\n@attribute w real\n@attribute big {YES,NO}\n@attribute id string\n"
    "@attribute soft {TRUE, FALSE}\n@attribute shape {disc,cube,rod}\n@data\n"
)
ROWS = "1,0.5,NO,'one',TRUE,cube\n0,?,YES,'two',?,disc\n1,2.5,YES,'three',FALSE,?\n"


def write(tmp_path, text, name="train.arff"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)
