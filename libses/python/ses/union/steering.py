"""Which branches of a union its own policy is to leave alone for a while, and why.  Pure.

For programs that no library reaches: the union keeps the administrator's policy and order of branches, and
a branch that would serve a file badly is out of its choice until it is better.  Knows nothing of single
files: all that is created between two looks goes where the union's policy says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ses_client.messages.elements import Element
from ses_client.messages.selections import Selection
from ses_client.unions import Union

from ses.union.streams import Streams

SLOW, RECOVERED = 0.6, 0.8
"""Parts of the best rate: below the first a branch is held back, from the second on it is back.

Up to the first the decision core takes branches for equal (``docs/decision.md``).
"""
FULL = 0.05
"""Part of its size: with less left above its reserve a branch is held back, with twice that it is back."""
PRESERVING = ("ep", "newest")
"""How policies begin that create only on branches that have the directory; all of these may be held back."""
_CREATING = ("create", "mkdir", "mknod", "symlink")


@dataclass(frozen=True, slots=True)
class Space:
    """The bytes of a branch's file system; ``writable`` is false where nothing can be made."""

    size: int
    free: int
    writable: bool = True


@dataclass(frozen=True, slots=True)
class Floor:
    """What the union keeps to create on: branches, and bytes above their reserves, all together."""

    branches: int
    free: int


@dataclass(frozen=True, slots=True)
class Loads:
    """What the service knows of the elements of the union, ``at`` a moment of the monotonic clock."""

    elements: Sequence[Element]
    selection: Selection
    at: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Why each branch is held back, by its path, and what is as it is all the same."""

    held: Mapping[str, str]
    notes: tuple[str, ...] = ()


def why_not(union: Union) -> str:
    """Return why a union cannot be steered; empty: it can."""
    options = union.options
    general = options.get("category.create", "")
    for function in _CREATING:
        policy = options.get(f"func.{function}", general)
        if policy.startswith(PRESERVING):
            return (
                f"it creates by {policy} (func.{function}), which keeps to branches that have the directory: "
                "with such a branch held back a create could fail. Mount it with category.create=pfrd, mfs "
                "or one of msp"
            )
    return ""


def decide(
    union: Union,
    spaces: Mapping[str, Space],
    loads: Loads,
    streams: Streams,
    floor: Floor,
) -> Decision:
    """Return what is to be held back now.  What the administrator made RO or NC is not looked at."""
    elements, selection = loads.elements, loads.selection
    targets = {element.id: element.target.rstrip("/") for element in elements}
    usable = {
        branch.path for branch in union.branches if _is_usable(branch.min_free, spaces.get(branch.path))
    }
    ours = {branch.path: branch.held for branch in union.branches if branch.mode == "RW"}
    rates = _rates_now(union, loads, streams)
    best = max((rate for path, rate in rates.items() if path in usable and path in ours), default=0.0)
    why: dict[str, str] = {}
    for path, held in ours.items():
        if path in rates and rates[path] < (RECOVERED if held else SLOW) * best:
            why[path] = f"a new file would get {rates[path]:.0f} MB/s there, and {best:.0f} MB/s on the best"
    for refusal in selection.refused:
        if (path := targets.get(refusal.element, "")) in ours:
            why[path] = refusal.detail or refusal.reason
    for branch in union.branches:
        space = spaces.get(branch.path)
        if branch.path not in ours:
            continue
        if branch.path not in usable or space is None:
            why[branch.path] = "its file system takes no file now"
        elif space.free - branch.min_free < FULL * (2 if branch.held else 1) * space.size:
            why[branch.path] = f"it is nearly full: {(space.free - branch.min_free) / 1e9:.1f} GB are left"
    return _keep_floor(union, spaces, usable & ours.keys(), why, rates, floor)


def _rates_now(union: Union, loads: Loads, streams: Streams) -> dict[str, float]:
    """Return what a new file would be written at on each branch whose load is seen, by its path.

    The rule's share, ``nominal / (n + 1)`` (docs/decision.md), with the streams of unions as they are now.
    """
    now, elements = streams.look(union), {element.id: element for element in loads.elements}
    rates = {}
    for candidate in loads.selection.candidates:
        element, seen = elements.get(candidate.element), candidate.available.write_mb_s
        if element is not None and seen is not None and candidate.basis == "monitor+ledger":
            path, nominal = element.target.rstrip("/"), element.nominal.write_mb_s or seen or 1.0
            sampled = loads.at - (candidate.age_seconds or 0.0)
            others = streams.foreign(path, nominal / max(seen, nominal / 1000) - 1, sampled)
            rates[path] = nominal / (others + now[path] + 1)
    return rates


def _keep_floor(
    union: Union,
    spaces: Mapping[str, Space],
    usable: Collection[str],
    why: dict[str, str],
    rates: Mapping[str, float],
    floor: Floor,
) -> Decision:
    reserves = {branch.path: branch.min_free for branch in union.branches}
    kept, notes = dict(why), []
    for path in sorted(usable & why.keys(), key=lambda path: (-rates.get(path, 0.0), path)):
        left = usable - kept.keys()
        if (
            len(left) >= floor.branches
            and sum(spaces[entry].free - reserves[entry] for entry in left) >= floor.free
        ):
            break
        notes.append(
            f"{path} stays in the choice, so that the union keeps enough to create on: {kept.pop(path)}"
        )
    return Decision(kept, tuple(notes))


def _is_usable(min_free: int, space: Space | None) -> bool:
    return space is not None and space.writable and space.free > min_free
