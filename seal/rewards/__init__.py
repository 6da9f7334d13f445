"""Scores that prior knowledge gives to an output where there is no gold."""

from seal.rewards.reward import BatchReward, CitationReward, Reward
