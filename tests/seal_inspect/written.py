"""Reads the tables that sub-commands have written."""

import csv


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
