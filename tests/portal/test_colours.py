"""Contrast of the portal's colours in both schemes (WCAG 2.2: 4.5 for text, 3 for edges of fields)."""

import re
from pathlib import Path

import pytest
import ses_webface

SHEET = (Path(ses_webface.__file__).parent / "static" / "css" / "base.css").read_text()
TEXT = [
    *((ink, ground) for ink in ("ink", "muted-ink", "accent") for ground in ("page", "surface")),
    *((ink, "surface") for ink in ("good", "warn", "bad")),
    *(("ink", f"heat-{step}") for step in range(1, 6)),
    ("accent", "accent-soft"), ("ink", "accent-soft"), ("muted-ink", "accent-soft"),
    ("on-accent", "accent"), ("on-accent", "accent-strong"),
    ("good", "good-soft"), ("warn", "warn-soft"), ("bad", "bad-soft"),
]  # fmt: skip
EDGES = [("line-strong", "surface"), ("accent", "page"), ("accent", "surface"), ("warn", "accent-soft")]


def _colours(scheme: str) -> dict[str, str]:
    light, dark = SHEET.split("@media screen and (prefers-color-scheme: dark)")[:2]
    colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6});", light if scheme == "light" else dark))
    assert colours
    return colours


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    channels = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(ink: str, ground: str) -> float:
    lighter, darker = sorted((_luminance(ink), _luminance(ground)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("pairs", "least"), [(TEXT, 4.5), (EDGES, 3.0)])
def test_colours_can_be_told_apart(scheme: str, pairs: list[tuple[str, str]], least: float) -> None:
    colours = _colours(scheme)
    poor = {
        pair: round(_contrast(colours[pair[0]], colours[pair[1]]), 2)
        for pair in pairs
        if _contrast(colours[pair[0]], colours[pair[1]]) < least
    }
    assert poor == {}
