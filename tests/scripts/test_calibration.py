import pytest
import torch

from scripts.measure import calibration
from scripts.measure.suite import UserError


def test_a_row_has_the_means_of_each_fifth():
    probability = torch.tensor([0.9, 0.1, 0.5, 0.3, 0.7])
    outputs = calibration.Outputs(probability, torch.full((5,), 0.2), torch.tensor([True, False, True, False, True]))
    cells = [cell.strip() for cell in calibration.row("some", outputs).strip("|").split("|")]
    assert cells == [
        *("some", "5", "60.0", "20.0", "50.0"),
        *("10.0 / 0.0", "30.0 / 0.0", "50.0 / 100.0", "70.0 / 100.0", "90.0 / 100.0"),
        *("50.0 ± 50.0", "0.323", "0.090"),
    ]


def test_too_few_outputs_and_missing_names_are_told():
    with pytest.raises(UserError, match="5 outputs"):
        calibration.fifths(torch.rand(4))
    with pytest.raises(UserError, match="--data"):
        calibration.run(calibration.parser("calibration").parse_args(["model.tar.gz"]))
