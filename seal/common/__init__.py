"""What many packages share: checks of settings and their messages, precision, labels, tags and trees, random states."""
