"""How texts of others are shown: names of files and programs are any user's.

What cannot be seen but changes how the text around it is read is escaped as ``\\x1b`` or ``\\u202e``:
control characters, marks of direction, separators of lines, what has no width but the two joiners that some
scripts are written with, and bytes of a name that are no UTF-8.
"""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs")


def visible(text: str, kept: str = "\t\n") -> str:
    """Return a text that steers no terminal and turns no line of a page; ``kept`` is left as it is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escaped(character) if is_hidden(character) and character not in kept else character
        for character in text
    )


def on_one_line(text: str) -> str:
    """Return a name with its tabs and newlines escaped, too."""
    return visible(text, "")


def is_hidden(character: str) -> bool:
    """Return whether a character is escaped."""
    return unicodedata.category(character) in _HIDDEN and character not in _JOINERS


def _escaped(character: str) -> str:
    byte = ord(character) - 0xDC00  # how Python reads a byte of a name that is no UTF-8
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else character.encode("unicode_escape").decode("ascii")
