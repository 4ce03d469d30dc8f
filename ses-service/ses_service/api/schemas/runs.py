"""Runs that are started, taken and reported on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from ses_client.messages.runs import OPTION

from ses_service.api.schemas.items import PLACEMENT_ID
from ses_service.api.schemas.requests import Body, Path, Text

MAX_TEXT = 16_384
"""Characters of all words of a run together."""

MAX_ERRORS = 8_000

Id = Annotated[str, Field(pattern=PLACEMENT_ID)]
Word = Annotated[str, Field(max_length=8192, pattern=r"^[^\x00]*$")]
# What begins with a dash would be read as an option.
FilePattern = Annotated[str, Field(max_length=4096, pattern=r"^[^-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$")]
Option = Annotated[str, Field(pattern=f"^{OPTION}$", examples=["--memory=4GB"])]
Count = Annotated[int, Field(ge=0, lt=2**53)]


class RunIn(Body):
    """A run that is started.  `run_id` is one the caller makes by chance: the same again starts no other."""

    run_id: Id
    files: Annotated[list[FilePattern], Field(min_length=1, max_length=100)]
    command: Annotated[list[Word], Field(min_length=1, max_length=200)]
    options: Annotated[list[Option], Field(max_length=20)]

    @model_validator(mode="after")
    def _makes_sense(self) -> RunIn:
        if "{}" not in self.command:
            raise ValueError("the command has no {}: write it where the names of the files belong")
        if sum(map(len, (*self.files, *self.command, *self.options))) > MAX_TEXT:
            raise ValueError(f"the run is longer than {MAX_TEXT} characters")
        return self


class RunTakeIn(Body):
    """Where what is taken will run."""

    node: Text
    directory: Path


class RunReportIn(Body):
    """What is known of a run; a member that is left out is as it was."""

    state: Literal["running", "ended", "stopped", "refused"]
    tasks: Count | None = None
    tasks_done: Count | None = None
    bytes_read: Count | None = None
    bytes_returned: Count | None = None
    exit_status: Annotated[int, Field(ge=0, le=255)] | None = None
    output: Path | None = None
    errors: Annotated[str, Field(max_length=MAX_ERRORS)] | None = None

    def known(self) -> dict[str, Any]:
        """Return what it says."""
        return self.model_dump(exclude={"state"}, exclude_none=True)


class RunStopIn(Body):
    """Nothing."""
