"""Files that ended, as rows of the database and back, and what is asked about them.

A question looks at the latest ``MAX_EXAMINED`` files that one index gives, so that its time is bounded
however many files there are and whatever else is asked for; a list says where to go on.
"""

import zlib
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter, ValidationError

from ses_service.ledger.achieved import Cause, Verdict
from ses_service.ledger.files import By, Detail, File, Group, Page, Wanted
from ses_service.model.kinds import CURRENT_RATES
from ses_service.store.database import Database
from ses_service.store.rows import text_of
from ses_service.store.tables import FILE

MAX_EXAMINED = 50_000

_MAX_JOBS = 100  # that are summed up apart, the worst first
_HOUR = 3600
_FILE, _DETAIL = TypeAdapter(File), TypeAdapter(Detail)
_LEADS = ("job", "user", "application", "element", "vo", "verdict")  # the most particular first
_ORDER = (FILE.c.ended_at.desc(), FILE.c.placement_id.desc())
_SHOWN = tuple(column for column in FILE.c if column is not FILE.c.detail)
_NAMES = tuple(column.name for column in _SHOWN)


def check_file(row: Mapping[str, Any]) -> None:
    """Raise ValueError where a row is no file that ended."""
    if _FILE.validate_python({name: row[name] for name in _NAMES}).ended_at is None:
        raise ValueError("it did not end")


class FileHistory:
    """What is asked of the files of one database.  Every method raises DatabaseError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, wanted: Wanted, limit: int) -> Page:
        """Return some of the files asked for, the latest end first."""
        lead, rest = _split(wanted)
        looked = sa.select(*_SHOWN).where(*lead).order_by(*_ORDER)
        if not rest:
            return _page(self._rows(looked.limit(limit + 1)), limit, None)
        inner = looked.limit(MAX_EXAMINED).subquery()
        asked = sa.select(inner).where(*(condition(inner.c) for condition in rest))
        asked = asked.order_by(inner.c.ended_at.desc(), inner.c.placement_id.desc()).limit(limit + 1)
        rows = self._rows(asked)
        last = None
        if len(rows) <= limit:
            keys = sa.select(FILE.c.ended_at, FILE.c.placement_id).where(*lead).order_by(*_ORDER)
            (last,) = self._rows(keys.offset(MAX_EXAMINED - 1).limit(1)) or (None,)
        return _page(rows, limit, None if last is None else (last["ended_at"], last["placement_id"]))

    def detail(self, placement_id: str) -> tuple[File, Detail] | None:
        """Return a file with all that is known of it, ``None`` where none is stored."""
        for row in self._rows(sa.select(FILE).where(FILE.c.placement_id == placement_id)):
            return _file(row), _read_detail(row["detail"])
        return None

    def groups(self, wanted: Wanted) -> tuple[list[Group], bool]:
        """Return the latest files asked for, summed up in each way there is.

        And whether these are all, or only the latest ``MAX_EXAMINED`` that were looked at.
        """
        lead, rest = _split(wanted)
        latest = sa.select(*_SHOWN).where(*lead).order_by(*_ORDER)
        asked = _summed(latest.limit(MAX_EXAMINED).subquery().c, rest, rounds=self._database.rounds)
        beyond = sa.select(FILE.c.placement_id).where(*lead).order_by(*_ORDER).offset(MAX_EXAMINED).limit(1)
        with self._database.transaction(reading=True) as connection:
            groups = [
                Group(
                    By(by),
                    name or "",
                    _verdict(verdict),
                    _cause(cause),
                    count,
                    part or 0.0,
                    forecast,
                    ratio or 0.0,
                )
                for by, name, verdict, cause, count, part, forecast, ratio in connection.execute(asked)
            ]
            more = connection.execute(beyond).scalar() is not None
        return groups, not more

    def ended_before(self, moment: float, limit: int) -> list[str]:
        """Return the ids of some files that ended before a time, the oldest first."""
        asked = sa.select(FILE.c.placement_id).where(FILE.c.ended_at < moment)
        with self._database.transaction(reading=True) as connection:
            return list(connection.execute(asked.order_by(FILE.c.ended_at).limit(limit)).scalars())

    def _rows(self, asked: sa.Select[Any]) -> Sequence[Mapping[str, Any]]:
        with self._database.transaction(reading=True) as connection:
            return [dict(row) for row in connection.execute(asked).mappings()]


def _summed(
    looked: sa.ColumnCollection[str, sa.ColumnElement[Any]], rest: list[Any], *, rounds: bool
) -> sa.CompoundSelect[Any]:
    """Return the question for sums of files, which columns of ``looked`` are of, in each way there is."""
    part = looked.achieved / looked.bound
    hours = looked.ended_at / _HOUR
    if rounds:
        hours = sa.func.floor(hours)
    names: dict[By, sa.ColumnElement[Any]] = {
        By.ELEMENT: looked.element,
        By.HOUR: sa.cast(sa.cast(hours, sa.BigInteger) * _HOUR, sa.Text),
        By.APPLICATION: looked.application,
        By.JOB: looked.job,
        By.USER: looked.user,
        By.VO: looked.vo,
        By.KIND: looked.kind,
    }
    short = sa.case((sa.and_(looked.bound > 0, part < 1), 1 - part), else_=0.0)
    enough = sa.and_(looked.achieved >= looked.bound, looked.achieved <= looked.predicted)
    is_forecast = sa.and_(
        looked.kind.in_([kind.value for kind in CURRENT_RATES]),
        looked.verdict != Verdict.CANNOT_SAY.value,
        sa.func.coalesce(looked.cause, "") != Cause.PROGRAM.value,
        looked.predicted > 0,
        ~enough,
    )
    forecast = sa.case((is_forecast, looked.achieved / looked.predicted), else_=None)
    columns = [column.label(by.value) for by, column in names.items()]
    # Asked for several times, so that databases work it out once.
    files = sa.select(
        *columns, looked.verdict, looked.cause, short.label("short"), forecast.label("forecast")
    )
    selected = files.where(*(condition(looked) for condition in rest)).cte("selected").c
    missed = sa.func.sum(selected.short)
    worst = (
        sa.select(selected.job).group_by(selected.job).order_by(missed.desc(), selected.job).limit(_MAX_JOBS)
    )
    of_job = sa.func.coalesce(selected.job, "").in_(sa.select(sa.func.coalesce(worst.subquery().c.job, "")))
    return sa.union_all(
        *(
            sa.select(
                *(
                    sa.literal(by.value),
                    selected[by.value],
                    selected.verdict,
                    selected.cause,
                    sa.func.count(),
                ),
                *(missed, sa.func.count(selected.forecast), sa.func.sum(selected.forecast)),
            )
            .where(*([of_job] if by is By.JOB else []))
            .group_by(selected[by.value], selected.verdict, selected.cause)
            for by in By
        )
    )


def _split(wanted: Wanted) -> tuple[list[sa.ColumnElement[bool]], list[Any]]:
    """Return what an index answers, and what each of the files it gives is asked then."""
    exact = {name: value for name in (*_LEADS, "node") if (value := getattr(wanted, name)) is not None}
    lead: list[sa.ColumnElement[bool]] = []
    first = next((name for name in _LEADS if name in exact), None)
    if first is not None:
        lead.append(FILE.c[first] == _plain(exact.pop(first)))
    if first == "user" and "verdict" in exact:
        lead.append(FILE.c.verdict == _plain(exact.pop("verdict")))
    if wanted.since is not None:
        lead.append(FILE.c.ended_at >= wanted.since)
    if wanted.until is not None:
        lead.append(FILE.c.ended_at < wanted.until)
    if wanted.after is not None:
        lead.append(FILE.c.ended_at <= wanted.after[0])
        lead.append(
            sa.tuple_(FILE.c.ended_at, FILE.c.placement_id) < sa.tuple_(*map(sa.literal, wanted.after))
        )
    rest: list[Any] = [_equals(name, _plain(value)) for name, value in exact.items()]
    if wanted.path is not None:
        part = text_of(wanted.path)
        rest.append(lambda columns: columns.path.contains(part, autoescape=True))
    return lead, rest


def _equals(name: str, value: Any) -> Any:
    return lambda columns: columns[name] == value


def _plain(value: Any) -> Any:
    return getattr(value, "value", value)


def _page(rows: Sequence[Mapping[str, Any]], limit: int, last: tuple[float, str] | None) -> Page:
    files = tuple(_file(row) for row in islice(rows, limit))
    if len(rows) > limit:
        last = float(rows[limit - 1]["ended_at"]), rows[limit - 1]["placement_id"]
    return Page(files, last)


def _file(row: Mapping[str, Any]) -> File:
    values = {name: row[name] for name in _NAMES}
    return File(**{**values, "verdict": _verdict(values["verdict"]), "cause": _cause(values["cause"])})


def _verdict(text: str | None) -> Verdict | None:
    return None if text is None else Verdict(text)


def _cause(text: str | None) -> Cause | None:
    return None if text is None else Cause(text)


def _read_detail(body: bytes | None) -> Detail:
    try:
        return Detail() if body is None else _DETAIL.validate_json(zlib.decompress(body))
    except (zlib.error, ValidationError):
        return Detail()
