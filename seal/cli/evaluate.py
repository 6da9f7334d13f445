"""The sub-command `evaluate`."""

import argparse

from allennlp.commands.evaluate import Evaluate


def add_parser(subparsers: argparse._SubParsersAction) -> argparse.ArgumentParser:
    return Evaluate().add_subparser(subparsers)
