"""How often what was required was met, by element, hour, application, job, user and VO.  Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ses_service.ledger.achieved import Cause, Verdict
from ses_service.ledger.files import By, Group

MAX_ROWS = 100

_ADVICE = {
    Cause.PROGRAM: "the program itself waited: require a current rate in place of an average one, which "
    "counts the seconds in which data move only, or let it write while it computes.",
    Cause.SLOW_ELEMENT: "elements were slower than described: ask the administrator to measure them "
    "(ses calibrate) and to correct the description.",
    Cause.OTHERS: "others came to the same elements: begin at other times, or spread a file over several "
    "elements (stripes).",
    Cause.FORESEEN: "no element offered so much when the files were created: spread a file over several "
    "elements (stripes), or require what one can give.",
    Cause.CLIENT_OR_NETWORK: "the elements had time left: larger blocks, more writers or another node may "
    "help; another element would not.",
}


@dataclass(slots=True)
class Sum:
    """Files under one name; ``shortfall`` is the mean part missed by those judged, 0 to 1.

    ``forecast_files``: how many show how good the forecast was (``of_forecast`` of the ledger's files).
    """

    name: str
    files: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    missing: float = 0.0
    forecast_files: int = 0
    forecast_sum: float = 0.0

    @property
    def judged(self) -> int:
        """How many of them can be judged."""
        return self.verdicts[Verdict.MET] + self.verdicts[Verdict.NEARLY] + self.verdicts[Verdict.MISSED]

    @property
    def met_ratio(self) -> float | None:
        """The part of those judged that was met; ``None`` where none can be judged."""
        return self.verdicts[Verdict.MET] / self.judged if self.judged else None

    @property
    def shortfall(self) -> float:
        """The mean part that was missed."""
        return self.missing / self.judged if self.judged else 0.0

    @property
    def of_forecast(self) -> float | None:
        """The mean of achieved over predicted; ``None`` where no file shows it."""
        return self.forecast_sum / self.forecast_files if self.forecast_files else None


@dataclass(frozen=True, slots=True)
class Report:
    """Sums of all files and by what they have in common, the worst first, hours in their order; advice."""

    total: Sum
    sums: dict[By, list[Sum]]
    causes: dict[Cause, int]
    advice: list[str]


def report(groups: Iterable[Group]) -> Report:
    """Sum up groups of files."""
    total = Sum("all")
    sums: dict[By, dict[str, Sum]] = {by: {} for by in By}
    causes: Counter[Cause] = Counter()
    for group in groups:
        _add(sums[group.by].setdefault(group.name, Sum(group.name)), group)
        if group.by is By.ELEMENT:  # each file is there once
            _add(total, group)
            if group.cause is not None:
                causes[group.cause] += group.files
    listed = {by: _worst(named.values()) for by, named in sums.items()}
    listed[By.HOUR] = sorted(sums[By.HOUR].values(), key=lambda row: float(row.name))
    listed[By.KIND] = _worst(total for total in sums[By.KIND].values() if total.name)
    return Report(
        total,
        listed,
        dict(causes.most_common()),
        [f"{count} files: {_ADVICE[cause]}" for cause, count in causes.most_common()],
    )


def _add(total: Sum, group: Group) -> None:
    total.files += group.files
    total.forecast_files += group.forecast_files
    total.forecast_sum += group.of_forecast
    if group.verdict is not None:
        total.verdicts[group.verdict] += group.files
    if group.verdict in (Verdict.NEARLY, Verdict.MISSED):
        total.missing += group.shortfall


def _worst(sums: Iterable[Sum]) -> list[Sum]:
    return sorted(sums, key=lambda row: (-row.missing, row.name))[:MAX_ROWS]
