"""Places that are asked for, renewed and listed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ses_service.api.schemas.items import PLACEMENT_ID
from ses_service.api.schemas.requests import (
    Body,
    Bytes,
    ElementId,
    Path,
    Query,
    Question,
    Text,
)
from ses_service.ledger.placement import Held
from ses_service.ledger.places import PlaceAsked

MAX_STREAMS = 64
MAX_LEASE = 366 * 86400.0

_NONE: Any = Field(default_factory=list, json_schema_extra={"default": []})

Id = Annotated[str, Field(pattern=PLACEMENT_ID)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\x00-\x1f\x7f]+$")]


class ProcessIn(Body):
    """A process of the node: `started` is in ticks since the node did, `namespace` a number."""

    pid: Annotated[int, Field(ge=1, lt=2**31)]
    started: Annotated[int, Field(ge=0, lt=2**63)]
    namespace: Annotated[int, Field(ge=0, lt=2**63)]


class PlaceRequest(Question):
    """A question for a directory of a storage system, which is given with a claim.

    `place_id` is one the caller makes by chance: the same request again gives the same place.  `name` is that
    of a directory which the caller will make there.  It ends after `lease_seconds`, or with a process of the
    subject's node; state one of both.  `streams` is how many write there at a time.
    """

    place_id: Id
    storage_system: Text
    streams: Annotated[int, Field(ge=1, le=MAX_STREAMS)] = 1
    exclude: Annotated[list[ElementId], Field(max_length=1000)] = _NONE
    name: Name | None = None
    lease_seconds: Annotated[float, Field(gt=0, le=MAX_LEASE)] | None = None
    process: ProcessIn | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> PlaceRequest:
        if (self.lease_seconds is None) == (self.process is None):
            raise ValueError("give either lease_seconds or process")
        if self.process is not None and self.subject.node is None:
            raise ValueError("a process is one of a node: name the subject's")
        if self.name in (".", ".."):
            raise ValueError(f"{self.name} is no name of a directory to make")
        return self

    def to_model(self, now: float) -> PlaceAsked:
        """Return what it asks of a place beside needs."""
        stated = self.process
        if stated is not None:
            held = Held(started=stated.started, namespace=stated.namespace)
            return PlaceAsked(self.place_id, held, self.streams, self.name, stated.pid)
        return PlaceAsked(
            self.place_id, Held(until=now + (self.lease_seconds or 0.0)), self.streams, self.name
        )


class Renewal(Body):
    """A sign of life of a place; `written_bytes` is what lies there, if the caller knows."""

    written_bytes: Bytes | None = None


class ReleaseQuery(Query):
    """What lies there at the end, if the caller knows."""

    written_bytes: Bytes | None = None


class PlacesQuery(Query):
    """Which places to list; `path` is the directory that was given."""

    user: Text | None = None
    storage_system: Text | None = None
    path: Path | None = None
    state: Literal["open", "ended"] = "open"
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
