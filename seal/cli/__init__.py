"""Sub-commands of the command `seal`."""

from seal.cli.components import ComponentsCommand
