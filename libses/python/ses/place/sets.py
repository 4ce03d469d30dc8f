"""Sets of directories by name: of the user's or the machine's settings, else of the service."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ses_client.errors import NotFoundError, SesError, UsageError
from ses_client.text_files import read_toml

from ses.settings import own_directory, service_address

_FILE = "directories.toml"
_OF_MACHINE = Path("/etc/ses")
_KINDS = {"among": list, "need": list, "rates": dict, "ledger": str}
_WORDS = {list: "a list of texts", dict: "a table of texts", str: "a text"}


@dataclass(frozen=True, slots=True)
class DirectorySet:
    """Directories to choose from, and what a choice among them is to know.

    ``need``, ``rates`` and ``ledger`` are the texts that ``ses place`` takes.  ``of_service``: the service
    chooses; ``directories`` is empty until it was asked for them.
    """

    name: str
    directories: tuple[str, ...] = ()
    need: tuple[str, ...] = ()
    rates: Mapping[str, str] = field(default_factory=dict)
    ledger: str | None = None
    of_service: bool = False

    def options(self) -> list[str]:
        """Return the options of ``ses place`` that choose from the set."""
        if self.of_service:
            return ["--on", self.name]
        options = ["--among", *self.directories]
        options += [word for need in self.need for word in ("--need", need)]
        options += [word for path, rate in self.rates.items() for word in ("--rate", f"{path}={rate}")]
        return options if self.ledger is None else [*options, "--ledger", self.ledger]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``ses.api.place`` that choose from the set."""
        if self.of_service:
            return {"on": self.name}
        return {
            "among": self.directories,
            "need": self.need,
            "rates": self.rates,
            "ledger": self.ledger,
        }


def directory_set(text: str) -> DirectorySet:
    """Return the set that is meant: directories with colons between them, or the name of a set.

    A name that no file has is one of the service's; it is not asked.  Raises SesError for a file that cannot
    be read or makes no sense.
    """
    if "/" in text:
        return DirectorySet(text, tuple(part for part in text.split(":") if part))
    if not text:
        raise UsageError("An empty text names no set of directories.")
    return settings().get(text) or DirectorySet(text, of_service=True)


def with_directories(chosen: DirectorySet) -> DirectorySet:
    """Return the set with the directories that the service knows, where it is one of the service's."""
    if not chosen.of_service:
        return chosen
    from ses_client.client import ServiceClient
    from ses_client.messages.element_groups import Chosen

    client = ServiceClient(service_address(None, None))
    systems = {system.name: system.backend for system in client.storage_systems()}
    if systems.get(chosen.name) != "directories":
        raise NotFoundError(
            f"{chosen.name!r} is no set of directories of {own_directory() / _FILE}, {_OF_MACHINE / _FILE}, "
            "or the service."
        )
    inventory = client.elements(Chosen(system=chosen.name))
    return replace(chosen, directories=tuple(element.target for element in inventory.elements))


def settings() -> dict[str, DirectorySet]:
    """Return the sets that the files describe; the user's own come before those of the machine."""
    sets: dict[str, DirectorySet] = {}
    for folder in (_OF_MACHINE, own_directory()):
        file = folder / _FILE
        if os.path.exists(file):  # noqa: PTH110  # a home may be closed to root
            sets |= {name: _read(file, name, about) for name, about in read_toml(file).items()}
    return sets


def _read(file: Path, name: str, about: Any) -> DirectorySet:
    if not isinstance(about, dict) or not about.get("among"):
        raise SesError(f"{file}: [{name}] names no directories.", 'Write: among = ["/scratch1", "/scratch2"]')
    for key, value in about.items():
        texts = value if key in ("among", "need") else value.values() if key == "rates" else [value]
        if key not in _KINDS:
            raise SesError(f"{file}: [{name}] has {key!r}; a set has {', '.join(_KINDS)} only.")
        if not isinstance(value, _KINDS[key]) or not all(isinstance(text, str) for text in texts):
            raise SesError(f"{file}: {key} of [{name}] is to be {_WORDS[_KINDS[key]]}.")
    relative = [path for path in about["among"] if not path.startswith("/")]
    if relative or "/" in name:
        raise SesError(f"{file}: [{name}]: directories start with a slash, and names have none.")
    return DirectorySet(
        name,
        tuple(about["among"]),
        tuple(about.get("need", ())),
        about.get("rates", {}),
        about.get("ledger"),
    )
