"""What many rooms share: checks of settings and their messages, precision, labels and tags, random states."""
