"""What many rooms share: checks of settings and their messages, precision, labels; and for readers, lines and names."""
