"""The command `seal`, and its sub-commands."""
