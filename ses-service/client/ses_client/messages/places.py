"""Places: directories that were given out for data to be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from ses_client.messages.message import Message
from ses_client.messages.requirements import ResolvedRequirement, Subject
from ses_client.messages.selections import Candidate, EndName, ExpectedFrom, Prediction, Refusal


class Place(Message):
    """A directory that was given, and what it stands for there.

    `claimed_bytes` is what was asked for, or what places like it took (`expected_from`); null: not known.
    `written_bytes` is what lies there, as reported last.  It ends at `until`; null: with process `pid` of the
    node.  `renewed_by`: `node` where an agent reports for the node, and is expected to watch the process;
    `caller`: it ends some time after `renew_within_seconds` in which nobody renewed it; null: it is not to be
    renewed.  `followed`: the agent does watch it.
    """

    place_id: str
    state: Annotated[str, Literal["open", "ended"]]
    subject: Subject
    element: str
    storage_system: str
    directory: str
    streams: int
    claimed_bytes: float | None = None
    expected_from: Annotated[str, ExpectedFrom] | None = None
    written_bytes: float | None = None
    made_at: float
    until: float | None = None
    pid: int | None = None
    followed: bool = False
    renewed_by: Annotated[str, Literal["node", "caller"]] | None = None
    renew_within_seconds: float
    ended_at: float | None = None
    end_reason: Annotated[str, EndName] | None = None

    @property
    def user(self) -> str:
        """Whose it is."""
        return self.subject.user


class PlaceGiven(Place):
    """A place with the reasons: what was required, what each element offered, and why it was left out."""

    requirements: Sequence[ResolvedRequirement] = ()
    predicted: Sequence[Prediction] = ()
    candidates: Sequence[Candidate] = ()
    refused: Sequence[Refusal] = ()
    notes: Sequence[str] = ()


class PlaceList(Message):
    """Places, the latest first."""

    places: Sequence[Place]
