"""Utilities for several packages: checks of settings, precision, tag encodings, linear trees, random states."""
