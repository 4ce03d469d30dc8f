"""The shapes of what is asked and answered over HTTP; ``openapi.yaml`` is made from them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from smed_monitor.core.model import State
from smed_monitor.core.quotas import Kind

MAX_WAIT_SECONDS = 30.0
LATEST_TIME = 1e10
MAX_STEPS = 3600


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", from_attributes=True)


class ObservationsQuery(_Model):
    """Without `wait` the answer comes at once."""

    wait: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_WAIT_SECONDS,
            allow_inf_nan=False,
            description="Wait up to this many seconds for an outcome of a scrape the caller has not seen.",
        ),
    ] = 0.0
    after: Annotated[
        int | None,
        Field(ge=0, description="The sequence the caller has; without it, the one at the time of asking."),
    ] = None
    changes: Annotated[
        bool,
        Field(description="Only elements sampled since `after`, where that is known; see `complete`."),
    ] = False


class Rates(_Model):
    """Bytes per second over the two windows of the settings; null while unknown."""

    current: float | None
    average: float | None


class ObservationOut(_Model):
    """One element.

    `stale`: the figures are from `sampled_at`, longer ago than the settings allow. `missing`:
    the target answers without this element, or has never answered; there are no figures.
    """

    element: str
    source: Annotated[str, Field(description="The collector.")]
    target: Annotated[str, Field(description="The address asked.")]
    state: State
    sampled_at: Annotated[float | None, Field(description="Epoch seconds, by the monitor's wall clock.")]
    age_seconds: Annotated[
        float | None, Field(description="Measured on a steady clock; right whatever the wall clock did.")
    ]
    interval_seconds: Annotated[
        float | None, Field(description="How far apart samples of it are; null before the second.")
    ]
    read_bytes_per_second: Rates
    write_bytes_per_second: Rates
    queue_depth: Annotated[float | None, Field(description="Mean requests in flight over the short window.")]
    service_seconds: Annotated[
        float | None, Field(description="Mean time of one operation over the short window.")
    ]
    free_bytes: Annotated[float | None, Field(description="What unprivileged users can still write.")]
    size_bytes: float | None
    read_only: bool
    degraded: Annotated[bool, Field(description="An OST that is slow, such as a RAID being rebuilt.")]
    no_create: Annotated[bool, Field(description="Takes no files: an administrator decided so.")]
    read_capability_bytes_per_second: Annotated[float | None, Field(description="What it can give at best.")]
    write_capability_bytes_per_second: float | None
    capability_source: Annotated[str, Field(description="given, learned, or empty.")]
    detail: Annotated[str, Field(description="What is wrong and the usual cure; empty when all is well.")]


class ObservationsOut(_Model):
    """All elements, in the order of the settings."""

    sequence: Annotated[int, Field(description="Outcomes of scrapes since the monitor started.")]
    complete: Annotated[bool, Field(description="False: only elements that changed since `after`.")]
    current_window_seconds: Annotated[
        float, Field(description="Time constant of the weighted means behind `current`.")
    ]
    average_window_seconds: Annotated[float, Field(description="The same behind `average`.")]
    observations: list[ObservationOut]


class HistoryQuery(_Model):
    """By default the last hour in the steps the monitor records."""

    element: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$", max_length=256)]
    since: Annotated[
        float | None, Field(ge=0, le=LATEST_TIME, description="Epoch seconds; default: an hour ago.")
    ] = None
    until: Annotated[
        float | None, Field(ge=0, le=LATEST_TIME, description="Epoch seconds; default: now.")
    ] = None
    step: Annotated[
        float | None, Field(ge=0.1, le=86400, description="Seconds; default: the period of the settings.")
    ] = None


class PointOut(_Model):
    """Means over one step; null while nothing is known."""

    at: Annotated[float, Field(description="The end of the step, epoch seconds.")]
    read_bytes_per_second: float | None
    write_bytes_per_second: float | None
    queue_depth: float | None


class HistoryOut(_Model):
    """What an element did, oldest step first; steps of which nothing is known are left out."""

    element: str
    step_seconds: float
    source: Annotated[str, Field(description="prometheus or memory.")]
    detail: Annotated[str, Field(description="Why not Prometheus, where one is configured; else empty.")]
    points: list[PointOut]


class QuotaOut(_Model):
    """What a user, group or project may store, and has stored."""

    kind: Kind
    name: str
    used_bytes: float
    limit_bytes: float
    sampled_at: Annotated[float, Field(description="Epoch seconds, by the clock of its server.")]


class SystemQuotasOut(_Model):
    """The quotas of one storage system, as last seen."""

    system: str
    target: Annotated[str, Field(description="Where they are from.")]
    error: Annotated[str, Field(description="Why they are not newer, or none; else empty.")]
    quotas: list[QuotaOut]


class QuotasOut(_Model):
    """The quotas of the storage systems that the settings name."""

    systems: list[SystemQuotasOut]


class HealthOut(_Model):
    """The process answers."""

    status: str


class Check(_Model):
    """One thing that must be right."""

    name: str
    ok: bool
    detail: str


class ReadinessOut(_Model):
    """Ready: targets are being scraped and at least one of them answers."""

    ready: bool
    checks: list[Check]


class ProblemError(_Model):
    """One fault of a request."""

    location: str
    message: str


class Problem(_Model):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[ProblemError] | None = None
