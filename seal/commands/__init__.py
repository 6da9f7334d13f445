"""Sub-commands of `allennlp`: what a trained energy has learned of tags or labels, and networks side by side."""

from seal.commands.compare_networks import CompareNetworks
from seal.commands.components import ComponentsCommand
from seal.commands.demo import DemoCommand
from seal.commands.label_interactions import LabelInteractions
from seal.commands.report import ReportCommand
from seal.commands.tag_interactions import TagInteractions
