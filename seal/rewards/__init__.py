from seal.rewards.citation import CitationReward
from seal.rewards.reward import BatchReward, Reward
