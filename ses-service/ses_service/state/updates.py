"""What changed for a node since its last announcement.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ses_service.decision.needs import Needs
from ses_service.decision.node_tables import NodeTables, TableAsked


def updates(
    needs: Needs,
    tables: NodeTables,
    node: str,
    users: Mapping[str, str],
    asked: Iterable[TableAsked],
    now: float,
) -> tuple[list[bytes], list[bytes]]:
    """Return what changed for a node, as JSON: the needs of users, and the tables it asks for.

    ``users`` are those on the node with the generation of their needs that it has.
    """
    needed = {user: needs.of(user, now) for user in users}
    in_use = {need.tobytes(): need for user_needs in needed.values() for need in user_needs.needs}
    of_site = needs.of_site(now)
    in_use.setdefault(of_site.tobytes(), of_site)
    changed = [
        text
        for table in asked
        if (text := tables.update_for(node, table, list(in_use.values()), now)) is not None
    ]
    bodies = [user_needs.body for user, user_needs in needed.items() if user_needs.generation != users[user]]
    return bodies, changed
