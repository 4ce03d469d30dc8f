"""What an agent announces beside which files are open: what each received, what is read, and how it fares."""

from typing import Annotated

from pydantic import ConfigDict, Field

from ses_service.api.schemas.requests import Body, Bytes, Text
from ses_service.ledger.readers import Reading
from ses_service.model.limits import MAX_ANNOUNCED_SAMPLES, MAX_BOUND

Number = Annotated[float, Field(ge=0, le=MAX_BOUND)]
Seconds = Annotated[float, Field(ge=0, le=1e11)]
Sample = Annotated[list[Annotated[float, Field(ge=0, le=1e24)]], Field(min_length=3, max_length=3)]


class AnnouncedPart(Body):
    """A part of an announcement.  Members that are not known are passed over: agents may be newer."""

    model_config = ConfigDict(extra="ignore")


class AchievedIn(AnnouncedPart):
    """What a file received while it was open; absent: the agent did not follow it.

    `writing_seconds` and `reading_seconds` are those in which data moved, `open_seconds` those from create to
    close.  `bytes_on_device`: what of that which was written is known to have reached the device by the end;
    null: unknown.  `samples` are seconds since the create, bytes written and bytes read until then.

    `doubts` say why a figure may say less than it seems: `page-cache` (what was written may be in memory
    only), `too-small`, `too-short`, `shared` (several files moved at once and could not be distinguished),
    `gaps` (the agent did not look for a while), `mapped` (used as memory); others are passed over.
    """

    bytes_written: Bytes = 0.0
    bytes_read: Bytes = 0.0
    writing_seconds: Seconds = 0.0
    reading_seconds: Seconds = 0.0
    open_seconds: Seconds
    bytes_on_device: Bytes | None = None
    doubts: Annotated[list[Annotated[str, Field(max_length=32)]], Field(max_length=16, default_factory=list)]
    samples: Annotated[list[Sample], Field(max_length=MAX_ANNOUNCED_SAMPLES, default_factory=list)]


class ReadingIn(AnnouncedPart):
    """Existing files of an element that a user reads on the node, and how fast together."""

    system: Text
    element: Text
    user: Text
    files: Annotated[int, Field(ge=0, lt=2**31)]
    bytes_per_second: Number = 0.0

    def to_model(self) -> Reading:
        """Return it as the core knows it."""
        known = self.element.startswith(f"{self.system}/")
        name = self.element if known else f"{self.system}/{self.element}"
        return Reading(name, self.user, self.files, self.bytes_per_second)


class StalledIn(AnnouncedPart):
    """A thread of the agent whose work has come to a stop, and for how many seconds."""

    thread: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
    seconds: Annotated[float, Field(ge=0, le=1e9)]
