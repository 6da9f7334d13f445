"""The one place of the version number; `setup.py` reads it without importing the package."""

VERSION = "0.2.0"
