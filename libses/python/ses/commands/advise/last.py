"""``ses advise --last``: the last forecast beside what the files placed since then achieved."""

from __future__ import annotations

import time

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError
from ses_client.messages.files import File, cause_words

from ses.files import listed
from ses.last_forecast import Kept, last
from ses.output import console, line, number, print_json, table
from ses.streaming.outcome import Ended, Outcome, outcome


def compare(client: ServiceClient, as_json: bool, application: str | None, job: str | None) -> None:
    """Print the last forecast and what came of it; raises NotFoundError when either is missing."""
    kept = last()
    if kept is None:
        raise NotFoundError("No forecast is kept. Make one: ses advise --profile FILE, then run the program.")
    asked = {"user": kept.user, "application": application or kept.application, "job": job}
    asked["since"] = repr(kept.at)
    pages = listed(client, {name: value for name, value in asked.items() if value is not None}, None)
    files = [
        file
        for page in pages
        for file in page.files
        if file.opened_at is not None and file.opened_at >= kept.at
    ]
    ended = [_ended(file) for file in files if file.state == "ended"]
    came = outcome(kept.work, kept.places, kept.link, ended)
    if came is None:
        still = f" {len(files) - len(ended)} are open." if len(files) > len(ended) else ""
        raise NotFoundError(
            f"No file of {kept.user} was placed and ended since {_moment(kept.at)} on an element of the "
            f"forecast.{still} Run the program, or look at them: ses files --last 1d."
        )
    if as_json:
        print_json({**_facts(kept, came), "open_files": len(files) - len(ended)})
        return
    out = console()
    where = ", ".join(came.predicted.elements)
    line(out, f"Forecast of {_moment(kept.at)} for {kept.program} on {where}; {came.files} files since.")
    rows = [
        [pair.name, *map(number, (pair.forecast, pair.measured)), number(pair.ratio, 2)]
        for pair in came.pairs
    ]
    table(out, ("", ">forecast", ">measured", ">ratio"), rows)
    line(out, _bound(came))
    for cause, count in came.causes:
        line(out, f"  {count} files: {cause_words(cause)}.")
    if came.unforeseen:
        line(out, f"Not forecast, and left out: files on {', '.join(came.unforeseen)}.")
    if len(files) > len(ended):
        line(out, f"Left out: {len(files) - len(ended)} files that are still open.")


def _ended(file: File) -> Ended:
    return Ended(
        element=file.element,
        opened_at=file.opened_at or 0.0,
        ended_at=file.ended_at or 0.0,
        read_bytes=file.bytes_read or 0.0,
        written_bytes=file.bytes_written or 0.0,
        read_rate=file.read_mb_s,
        write_rate=file.write_mb_s,
        cause=file.cause,
    )


def _bound(came: Outcome) -> str:
    if came.bound is None:
        return f"Bound by none of what was forecast ({came.predicted.binding}): the program waited elsewhere."
    if came.bound is came.predicted.binding:
        return f"Bound by the {came.bound}, as forecast."
    return f"Bound by the {came.bound}; forecast was the {came.predicted.binding}."


def _facts(kept: Kept, came: Outcome) -> dict[str, object]:
    return {
        "forecast_at": kept.at,
        "program": kept.program,
        "elements": list(came.predicted.elements),
        "files": came.files,
        "binding_forecast": str(came.predicted.binding),
        "binding_measured": None if came.bound is None else str(came.bound),
        "compared": [{**pair._asdict(), "ratio": pair.ratio} for pair in came.pairs],
        "causes": dict(came.causes),
        "not_forecast": list(came.unforeseen),
    }


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
