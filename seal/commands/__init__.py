"""
Sub-commands of `allennlp` and `seal`: a page to try a model, a report on runs, what an energy has learned of tags or
labels, two networks side by side, and the list of components.
"""

from seal.commands.compare_networks import CompareNetworks
from seal.commands.components import ComponentsCommand
from seal.commands.demo import DemoCommand
from seal.commands.label_interactions import LabelInteractions
from seal.commands.report import ReportCommand
from seal.commands.tag_interactions import TagInteractions
