"""Write the embedded segmentation sample: small images of one shape before a patchwork, and the shape's mask.

    python scripts/samples/make_shapes_sample.py --out data/shapes_sample --seed 43

A shape (an ellipse, a bar or a triangle) has a colour of its own, the background two. Some squares of the
shape have the background's colours, some squares of the background have the shape's, and everything is noisy. So
the class of a pixel follows from its surroundings: there is one shape, and it has no gaps. The same seed and sizes
always give the same images: all randomness comes from `random.Random.random`, which is the same on every machine
and for every version of Python, and pixels are multiples of 8, so that the rounding of a last bit does not matter.
"""

import random
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for those who load this file by its path

from sample_command import parse_arguments

SPLITS = ("train", "valid", "test")
SIDE = 32
# The side of the squares that have the other part's colours, and how likely such a square is in the shape and in the
# background.
SQUARE = 4
HOLES, CRUMBS = 0.25, 0.15
# Ranges of red, green and blue: shapes are mostly warm and backgrounds mostly cool, but the ranges overlap.
WARM, COOL = ((110, 215), (40, 170), (40, 140)), ((40, 140), (60, 215), (80, 215))
NOISE = 60
STEP = 8


def between(rng, low, high):
    return low + (high - low) * rng.random()


def colour(rng, ranges):
    return [between(rng, *ends) for ends in ranges]


def draw_shape(rng):
    """`(SIDE, SIDE)` booleans: the pixels whose centres lie in a shape, which the image may cut off."""
    y, x = numpy.mgrid[0:SIDE, 0:SIDE] + 0.5
    x, y = x - between(rng, 10, 22), y - between(rng, 10, 22)
    # A rotation with rational sine and cosine, as the functions of `math` may differ between machines in the last bit.
    slope = between(rng, -1, 1)
    cosine, sine = (1 - slope * slope) / (1 + slope * slope), 2 * slope / (1 + slope * slope)
    u, v = cosine * x + sine * y, cosine * y - sine * x
    length, breadth = between(rng, 8, 14), between(rng, 5, 9)
    kind = int(3 * rng.random())
    if kind == 0:
        return (u / length) ** 2 + (v / breadth) ** 2 <= 1
    if kind == 1:
        return (abs(u) <= length) & (abs(v) <= breadth * 0.8)
    return (u <= length * 0.8) & (abs(v) <= (u + length) * 0.55 * breadth / length * 1.4) & (u >= -length)


def squares(rng, share):
    """`(SIDE, SIDE)` booleans: whole squares, each chosen with probability `share`."""
    side = SIDE // SQUARE
    chosen = numpy.array([[rng.random() < share for _ in range(side)] for _ in range(side)])
    return chosen.repeat(SQUARE, axis=0).repeat(SQUARE, axis=1)


def draw(rng):
    """An image, `(SIDE, SIDE, 3)`, and its mask, `(SIDE, SIDE)`; `uint8`."""
    mask = draw_shape(rng)
    own, ground = colour(rng, WARM), [colour(rng, COOL) for _ in range(2)]
    # The background's patches are squares as well, so that a hole in the shape looks like one of them.
    side = SIDE // SQUARE
    patches = [[ground[int(2 * rng.random())] for _ in range(side)] for _ in range(side)]
    image = numpy.array(patches).repeat(SQUARE, axis=0).repeat(SQUARE, axis=1)
    shown = (mask & ~squares(rng, HOLES)) | (~mask & squares(rng, CRUMBS))
    image[shown] = own
    noise = [[[rng.random() - 0.5 for _ in range(3)] for _ in range(SIDE)] for _ in range(SIDE)]
    image = (image + NOISE * numpy.array(noise)).clip(0, 255) // STEP * STEP
    return image.astype(numpy.uint8), mask.astype(numpy.uint8)


def make(seed, sizes):
    """The images and masks of every split, by name."""
    rng = random.Random(seed)
    made = {}
    for split in SPLITS:
        images, masks = zip(*(draw(rng) for _ in range(sizes[split])))
        made[split] = {"images": numpy.stack(images), "masks": numpy.stack(masks)}
    return made


def table(made):
    """A few counts of each split, as lines: images, and the share of foreground."""
    lines = ["split  images  foreground"]
    for split, arrays in made.items():
        lines.append(f"{split:<6} {len(arrays['masks']):>6} {100 * arrays['masks'].mean():>9.1f} %")
    return lines


def main(argv=None):
    arguments = parse_arguments(
        argv,
        "Write train, valid and test .npz files of images with masks.",
        out="data/shapes_sample",
        seed=43,
        sizes=dict(zip(SPLITS, (60, 20, 40))),
        unit="images",
    )
    made = make(arguments.seed, {split: getattr(arguments, split) for split in SPLITS})
    arguments.out.mkdir(parents=True, exist_ok=True)
    for split, arrays in made.items():
        numpy.savez_compressed(arguments.out / f"{split}.npz", **arrays)
    print("\n".join(table(made)))


if __name__ == "__main__":
    main()
