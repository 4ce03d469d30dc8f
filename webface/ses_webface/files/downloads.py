"""All files of a filter as one download, page by page of the service; one that fails is broken off."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence

from ses_client.messages.files import COLUMNS, File, FilePage, csv_cell

MAX_AT_ONCE = 1000

Pages = Callable[[str | None], FilePage]


def as_csv(pages: Pages) -> Iterator[str]:
    """Return comma-separated values with a header; empty is unknown, times are seconds since the epoch."""
    return _csv(_all(pages))


def as_json(pages: Pages) -> Iterator[str]:
    """Return one object with the member ``files``."""
    return _json(_all(pages))


def _all(pages: Pages) -> Iterator[Sequence[File]]:
    """Return the pages, the first one asked for at once: what is wrong with the filter is reported before."""
    first = pages(None)

    def rest() -> Iterator[Sequence[File]]:
        page = first
        yield page.files
        while page.next is not None:
            page = pages(page.next)
            yield page.files

    return rest()


def _csv(pages: Iterator[Sequence[File]]) -> Iterator[str]:
    text = io.StringIO()
    text.write("\ufeff")  # without it Excel reads another encoding than UTF-8
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for files in pages:
        writer.writerows([csv_cell(getattr(file, name)) for name in COLUMNS] for file in files)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _json(pages: Iterator[Sequence[File]]) -> Iterator[str]:
    between = '{"files": [\n'
    for files in pages:
        for file in files:
            yield between + json.dumps({name: getattr(file, name) for name in COLUMNS})
            between = ",\n"
    yield "\n]}\n" if between.startswith(",") else between + "]}\n"
