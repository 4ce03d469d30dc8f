"""Text that people write or export: every part reads it alike, and refuses it in the same words.

UTF-8, with or without a byte-order mark, with the line ends of Linux or of Windows.
"""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

from ses_client.errors import NotFoundError, SesError


def plain(text: str) -> str:
    """Return a text without its byte-order mark, with the line ends of Linux."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def decoded(data: bytes, name: str) -> str:
    """Return the text of a file called ``name``.  Raises SesError, which names the line."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SesError(f"{name} is UTF-16 text: save it as UTF-8.")
    try:
        return plain(data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SesError(
            f"{name}: line {line}: the byte 0x{data[error.start]:02X} is not UTF-8: save the file as UTF-8."
        ) from None


def read_text(path: str | Path) -> str:
    """Return the text of a file.  Raises SesError, NotFoundError where there is none."""
    try:
        return decoded(Path(path).read_bytes(), str(path))
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.") from None
    except OSError as error:
        raise SesError(f"{path} cannot be read: {error.strerror}.") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds.  Raises like :func:`read_text`."""
    return toml_of(read_text(path), path)


def toml_of(text: str, path: Path) -> dict[str, Any]:
    """Return what a text holds that is read already, of a file at ``path``.  Raises SesError."""
    import tomllib  # many read no settings

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SesError(f"{path} is not TOML: {error}.") from None
