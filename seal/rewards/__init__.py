"""Scores of outputs by prior knowledge, for data without gold."""

from seal.rewards.reward import BatchReward, CitationReward, Reward
