"""Placements as rows of the database, which are values in the order of its columns, and back.

What a row says of an element is what the ledger needs: id, storage system and target.  An explanation that
cannot be read, since it was written by another version, is left out.
"""

import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from ses_state import _state

from ses_service.ledger.placement import (
    Candidate,
    EndReason,
    Held,
    PeerPlacement,
    Placement,
    PlacementState,
    Prediction,
    Refusal,
)
from ses_service.ledger.size_history import SizeKey, Sizes
from ses_service.model.entities import Element, ResolvedRequirement, Subject


@dataclass(frozen=True, config=ConfigDict(ser_json_inf_nan="constants"))  # among keys
class Explanation:
    """What the placements of one decision share."""

    requirements: tuple[ResolvedRequirement, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refused: tuple[Refusal, ...] = ()


_EXPLANATION = TypeAdapter(Explanation)
_PREDICTED = TypeAdapter(tuple[Prediction, ...])
_NOTHING = Explanation()


def explanation_of(placement: Placement) -> bytes | None:
    """Return the explanation of a placement, ``None`` when it has none."""
    if not (placement.requirements or placement.candidates or placement.refused):
        return None
    explained = Explanation(placement.requirements, placement.candidates, placement.refused)
    return _state.compressed(_EXPLANATION.dump_json(explained))


def read_explanation(body: bytes | None) -> Explanation:
    """Return the explanation in ``body``, an empty one if it cannot be read."""
    if body is None:
        return _NOTHING
    try:
        return _EXPLANATION.validate_json(zlib.decompress(body))
    except (zlib.error, ValidationError):
        return _NOTHING


def placement_of(row: Mapping[str, Any], explained: Explanation) -> Placement:
    """Return the placement of a row; raises ValueError or KeyError when it is not one."""
    stripes = tuple(
        Element(name, "", name.rpartition("/")[2], system, target, "")
        for name, system, target in json.loads(row["elements"])
    )
    reason = row["end_reason"]
    return Placement(
        placement_id=row["placement_id"],
        subject=Subject(row["user"], row["application"], row["vo"], row["node"], row["job"]),
        element=stripes[0],
        backend=row["backend"],
        distance=row["distance"],
        placed_at=row["placed_at"],
        lease_until=math.inf if row["lease_until"] is None else row["lease_until"],
        predicted=_PREDICTED.validate_json(row["predicted"]),
        requirements=explained.requirements,
        candidates=explained.candidates,
        refused=explained.refused,
        rank=row["rank"],
        batch_number=row["turn"],
        batch_size=row["turns"],
        notes=tuple(json.loads(row["notes"])),
        stripes=stripes if len(stripes) > 1 else (),
        stripe_count=len(stripes),
        stripe_size=row["stripe_size"],
        decided_by=row["decided_by"],
        expected_bytes=row["expected_bytes"],
        expected_from=row["expected_from"],
        state=PlacementState(row["state"]),
        path=row["path"],
        device=None if row["device"] is None else int(row["device"]),
        inode=row["inode"],
        pid=row["pid"],
        opened_at=row["opened_at"],
        ended_at=row["ended_at"],
        end_reason=None if reason is None else EndReason(reason),
        bytes_written=row["bytes_written"],
        held=None if row["held"] is None else Held(*json.loads(row["held"])),
    )


def peer_placement_of(row: Mapping[str, Any], now: float) -> PeerPlacement:
    """Return the placement of a row as one that another service carries."""
    elements = tuple(name for name, _, _ in json.loads(row["elements"]))
    began = min(row["placed_at"], now)
    return PeerPlacement(
        row["placement_id"], row["service"], row["node"] or "", elements, began, row["expected_bytes"]
    )


def size_row(key: SizeKey, sizes: Sizes) -> tuple[Any, ...]:
    """Return an entry of the history of sizes as a row of ``SIZE_HISTORY``."""
    return (
        key.digest,
        text_of(key.user),
        text_of(key.application),
        text_of(key.pattern),
        sizes.count,
        json.dumps(list(sizes.recent)),
        sizes.last_at,
    )


def size_of(row: Mapping[str, Any]) -> tuple[SizeKey, Sizes]:
    """Return the entry of a row; raises ValueError when it is not one."""
    sizes = Sizes(row["count"], row["last_at"])
    sizes.recent.extend(float(size) for size in json.loads(row["recent"]))
    if not sizes.recent:
        raise ValueError("an entry without sizes")
    return SizeKey(row["user"], row["application"], row["pattern"]), sizes


def text_of(text: str | None) -> str | None:
    """Return a text every database takes: PostgreSQL has no NUL, and UTF-8 has no lone surrogates."""
    if text is None or (text.isascii() and "\x00" not in text):
        return text
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
