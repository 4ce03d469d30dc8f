"""Quotas, and when they are used up."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from ses_client.messages.quotas import KindOfQuota

from ses_service.api.schemas.requests import Query, Text


class QuotasQuery(Query):
    """Which quotas to list: of a storage system, of a kind, or those that count for a user."""

    system: Text | None = None
    kind: KindOfQuota | None = None
    user: Text | None = None
    full_within_days: Annotated[float, Field(gt=0, le=3650)] | None = None
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=10_000)] = 50
