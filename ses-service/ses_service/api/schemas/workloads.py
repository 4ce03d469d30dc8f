"""A sentence about a program, and the requirements that follow from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ses_service.api.schemas.requests import Body, Text

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class WorkloadIn(Body):
    """A sentence such as `checkpoint of 4 TB every 30 min by 512 ranks`.

    `values` gives parameters that it does not have, such as `{"share": "10 %"}`.
    """

    sentence: Annotated[Text, Field(examples=["checkpoint of 4 TB every 30 min by 512 ranks"])]
    values: Annotated[dict[_Name, Text], Field(max_length=32)] = Field(default_factory=dict)
