import torch

from seal.output_spaces import Candidates, RewardedCandidates


def test_without_merged_draws_each_candidate_counts_once():
    counts = Candidates(torch.rand(2, 3, 4)).log_counts()
    assert counts.shape == (2, 3) and counts.exp().tolist() == [[1, 1, 1]] * 2


def test_the_counts_of_merged_draws():
    given = torch.tensor([[3.0, 1.0, 0.0]]).log()
    assert Candidates(torch.rand(1, 3, 4), log_count=given).log_counts() is given
    rewarded = RewardedCandidates(
        torch.rand(1, 3, 4),
        log_count=given,
        target=torch.rand(1, 4),
        labelled=torch.tensor([True]),
        reward_gap=torch.zeros(1, 3),
    )
    assert rewarded.log_counts() is given
