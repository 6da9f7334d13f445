"""
Helpers of this folder's commands: options, random choices, columns of brackets, and files of the same bytes on every
system.
"""

import argparse
from pathlib import Path

MAX_TRIES = 50  # draws that a split may take for each of its items, and 100 more


def parse_arguments(argv, description, out, seed, sizes, unit):
    """
    Parses `--out`, `--seed` and an option for the size of each split. `sizes` has the splits with their default sizes,
    `unit` is what is counted.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--out", type=Path, default=out, help="folder for the files")
    parser.add_argument("--seed", type=int, default=seed, help="the same seed and sizes give the same bytes")
    for split, size in sizes.items():
        parser.add_argument(f"--{split}", type=int, default=size, help=f"how many {split} {unit}")
    arguments = parser.parse_args(argv)
    for split in sizes:
        if getattr(arguments, split) < 1:
            parser.error(f"--{split} must be at least 1.")
    for path in (arguments.out, *arguments.out.parents):
        if path.exists() and not path.is_dir():
            parser.error(f"--out must be a folder, and {path} is a file.")
    return arguments


def choice(rng, options):
    """One of the options, each as likely, by `rng.random` alone: other methods differ between versions of Python."""
    return options[int(rng.random() * len(options))]


def draw_different(draw, sizes, key, unit):
    """
    Items of every split, `sizes[split]` of them, by split. `draw` makes an item, and may make an empty one, which
    is dropped; no two items have the same `key`. Raises `ValueError`, in terms of `unit`, where too few differ.
    """
    made, seen = {}, set()
    for split, size in sizes.items():
        items, tries = [], 0
        while len(items) < size:
            tries += 1
            if tries > MAX_TRIES * size + 100:
                raise ValueError(f"Only {len(items)} different {unit} were found for {split}, not {size}.")
            item = draw()
            if item and key(item) not in seen:
                seen.add(key(item))
                items.append(item)
        made[split] = items
    return made


def bracket_column(spans, length):
    """
    A column of a CoNLL-2012 file, such as a predicate's: `(ARG0*` opens a span, `*)` closes it. `spans` has their first
    words, last words and labels; none of them overlap.
    """
    column = ["*"] * length
    for start, end, label in spans:
        column[start] = f"({label}*"
        column[end] += ")"
    return column


def write(folder, files):
    """Writes files into `folder`, which is made where it is missing; `files` maps names to texts."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        # newline="\n" keeps the bytes the same on every system.
        with open(folder / name, "w", encoding="utf-8", newline="\n") as handle:
            handle.write(text)


def write_sample(argv, description, out, seed, sizes, unit, make, files, table):
    """
    Runs the command of a maker: parses the arguments, makes the splits, writes their files, and prints a table.

    # Parameters

    argv, description, out, seed, sizes, unit : as for `parse_arguments`
    make : takes the seed and the size of each split; returns the splits by name
    files : takes the splits, and returns texts by the names of files
    table : takes the splits, and returns lines
    """
    arguments = parse_arguments(argv, description, out, seed, sizes, unit)
    made = make(arguments.seed, {split: getattr(arguments, split) for split in sizes})
    write(arguments.out, files(made))
    print("\n".join(table(made)))
