"""Layouts of published data that `scripts/convert.py` turns into what the readers read: a module for each task."""
