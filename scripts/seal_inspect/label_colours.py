"""Colours for labels: they differ clearly, and are light enough for black text."""

import math
from collections.abc import Iterable
from functools import cache

#: The colour of the predicate, and the background of the page.
_GREY, _PAGE = (0xDD, 0xDD, 0xDD), (0xFF, 0xFF, 0xFF)
_NOT_COLOURED = ("V", "C-V")
#: More labels than this share colours.
MOST = 64


def colours_of(labels: Iterable[str]) -> dict[str, str]:
    """
    A colour `#rrggbb` for each label; 64 labels have different ones. Black text on them has a contrast of at least 7.
    The first labels get the colours that differ most. The predicate, `V`, is grey.
    """
    coloured = [label for label in dict.fromkeys(labels) if label not in _NOT_COLOURED]
    found = _palette()[: len(coloured)]
    colours = {label: _as_hex(found[place % MOST]) for place, label in enumerate(coloured)}
    return {**dict.fromkeys(_NOT_COLOURED, _as_hex(_GREY)), **colours}


@cache
def _palette() -> list[tuple[int, int, int]]:
    """`MOST` colours. Each is as far as possible from those before it, from grey and from the background."""
    cells = [
        rgb
        for lightness in (0.92, 0.87, 0.82, 0.77)
        for chroma in (0.05, 0.07, 0.09, 0.11, 0.13)
        for hue in range(0, 360, 6)
        if (rgb := _rgb(lightness, chroma, hue)) is not None and contrast_with_black(rgb) >= 7
    ]
    places = [_oklab(rgb) for rgb in cells]
    nearest = [min(math.dist(place, _oklab(other)) for other in (_GREY, _PAGE)) for place in places]
    chosen = []
    for _ in range(MOST):
        best = max(range(len(cells)), key=nearest.__getitem__)
        chosen.append(cells[best])
        nearest = [min(far, math.dist(place, places[best])) for far, place in zip(nearest, places)]
    return chosen


def contrast_with_black(rgb: tuple[int, int, int]) -> float:
    """The contrast ratio of the Web Content Accessibility Guidelines, 1 to 21; 7 is enough for any text."""
    red, green, blue = map(_linear, rgb)
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) / 0.05


def _oklab(rgb: tuple[int, int, int]) -> tuple[float, float, float]:
    """Converts a colour to Ottosson's Oklab, in which distances approximate perceived differences."""
    red, green, blue = map(_linear, rgb)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _rgb(lightness: float, chroma: float, hue: float) -> tuple[int, int, int] | None:
    """Converts a point of Oklab to a colour; `None` if screens cannot show it."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    if not all(0 <= value <= 1 for value in linear):
        return None
    red, green, blue = (
        round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055)) for value in linear
    )
    return red, green, blue


def _linear(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def _as_hex(rgb: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)
