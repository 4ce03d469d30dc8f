"""Elements to which no file of a node can go, as its agent reports."""

from collections.abc import Mapping
from dataclasses import dataclass

_MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class Exclusion:
    """An element to which no file can go that a user of a node makes, ``None``: no file at all, and why."""

    element: str
    why: str
    user: str | None = None


@dataclass(frozen=True, slots=True)
class ExcludedOn:
    """The nodes that exclude an element, each with the reason; ``everywhere``: all that have its system."""

    nodes: Mapping[str, str]
    everywhere: bool

    def holds_for(self, node: str | None) -> bool:
        """Return whether files of a node cannot go there; of ``None``: those of any."""
        return self.everywhere or node in self.nodes

    def sentence(self, node: str | None = None) -> str:
        """Return it in words, of one node if that excludes it."""
        named = [node] if node in self.nodes else sorted(self.nodes)
        sentence = "; ".join(f"excluded on {name}: {self.nodes[name]}" for name in named[:_MAX_NAMED] if name)
        more = len(named) - _MAX_NAMED
        return sentence if more <= 0 else f"{sentence}; and on {more} more nodes"
