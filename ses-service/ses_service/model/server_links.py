"""Links of servers in words: where one leaves a stream less than the element would give."""

from collections.abc import Iterable

from ses_service.model.entities import Element

_MB = 1e6
_MAX_NAMED = 3


def link_notes(limited: Iterable[tuple[Element, float]]) -> list[str]:
    """Return a sentence for each of the first servers whose link limits elements.

    ``limited`` are these elements with what a stream would get by the link, bytes per second.
    """
    of_servers: dict[str, list[tuple[Element, float]]] = {}
    for element, left in limited:
        of_servers.setdefault(element.server, []).append((element, left))
    return [_note(server, links) for server, links in list(of_servers.items())[:_MAX_NAMED]]


def _note(server: str, links: list[tuple[Element, float]]) -> str:
    first, least = links[0][0], min(left for _, left in links) / _MB
    carries = "" if first.server_rate is None else f" ({first.server_rate / _MB:.4g} MB/s for all)"
    those = first.id if len(links) == 1 else f"{len(links)} elements of it"
    return f"The link of {server}{carries} leaves a stream {least:.4g} MB/s: less than {those} would give."
