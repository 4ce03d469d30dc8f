"""Shows characters that cannot be seen but change how the text around them is read.

A file may be called "report\u202egpj.exe", which a browser shows as "reportexe.jpg".  In pages such
characters are named instead: controls, marks of direction, separators of lines, and what has no width but
the two joiners that some scripts are written with.
"""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_SPACES = "\t\n\r"


def visible(text: str) -> str:
    """Return ``text`` with each hidden character as its number, for example ⟨U+202E⟩."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(one):04X}⟩" if _is_hidden(one) else one for one in text)


def _is_hidden(one: str) -> bool:
    if one in _JOINERS or one in _SPACES:
        return False
    return unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp", "Cs")


def in_page(value: object) -> object:
    """Return what a template writes for ``value``; markup has been through this already."""
    return visible(value) if type(value) is str else value
