"""A mistake of the user at the command line."""


class UserError(Exception):
    """A mistake of the user at the command line; the message is one sentence."""
