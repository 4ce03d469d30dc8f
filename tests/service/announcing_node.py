"""A node's agent as services hear it, and what they say of its files."""

import itertools
import secrets
from typing import Any

import urllib3
from files_opened import opened as file_opened
from patience import wait_until
from service_process import SITE, Running


def options(*more: str) -> tuple[str, ...]:
    return ("--trust-loopback", f"--site={SITE}", *more)


AGENT = "a" * 16
AT_ONCE = 40
MAX_OF_A_STORM = 12  # announcements that say something new


class Node:
    """A node's agent that opens and ends files as fast as it is answered.

    ``open`` and ``ended`` are what it said in announcements that were answered.  It keeps what it was not
    told is stored, and says it again to another instance of the service; ``forget`` lets it lose that.
    What it is asked about and does not have open, it ends.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.open: set[str] = set()
        self.ended: set[str] = set()
        self.answers = 0
        self._kept: list[tuple[int, list[dict[str, Any]], list[dict[str, Any]]]] = []
        self._number = 0
        self._instance = ""
        self._inodes = itertools.count(1)
        self._known: dict[str, dict[str, Any]] = {}

    def begin(self, count: int = AT_ONCE) -> list[str]:
        return [secrets.token_hex(8) for _ in range(count)]

    def announce(self, service: Running, opened: list[str], ended: list[str]) -> None:
        for placement in opened:
            element = f"union/b{int(placement, 16) % 4 + 1}"
            self._known[placement] = file_opened(
                placement, element=element, inode=next(self._inodes), path=f"/u/{placement}"
            )
        self._say(
            service,
            [self._known[placement] for placement in opened],
            [{"placement_id": placement, "reason": "closed", "bytes_written": 7} for placement in ended],
        )
        self.open = (self.open | set(opened)) - set(ended)
        self.ended |= set(ended)
        self.answers += 1

    def announce_file(self, service: Running, opened: dict[str, Any], decision: dict[str, Any]) -> None:
        """Say of one file by which decision it was placed."""
        placement = opened["placement_id"]
        self._say(service, [opened], [], decisions=[decision])
        self._known[placement] = {name: value for name, value in opened.items() if name != "decision"}
        self.open.add(placement)

    def move(self, service: Running) -> None:
        """Speak with another service: what is not stored again, and all that is open."""
        self._say(service, [], [])
        self._say(service, [self._known[placement] for placement in sorted(self.open)], [], complete=True)

    def forget(self, ended: list[str]) -> None:
        """Close files, and lose what is not stored."""
        self.open -= set(ended)
        self._kept.clear()

    def settle(self, service: Running) -> None:
        """Go on until all is stored."""

        def is_stored() -> bool:
            self._say(service, [], [])
            return not any(opened or ended for _, opened, ended in self._kept)

        wait_until(is_stored)

    def storm(self, service: Running) -> None:
        """Go on until the service is gone; with nothing new after a while: no more than can be listed."""
        try:
            for number in itertools.count():
                begins = number < MAX_OF_A_STORM
                ended = sorted(self.open)[: AT_ONCE // 2] if begins else []
                self.announce(service, self.begin() if begins else [], ended)
        except (urllib3.exceptions.HTTPError, ValueError):
            return  # what was not answered may have been taken or not

    def _say(
        self,
        service: Running,
        opened: list[dict[str, Any]],
        ended: list[dict[str, Any]],
        *,
        complete: bool = False,
        decisions: list[dict[str, Any]] | None = None,
    ) -> None:
        self._number += 1
        self._kept.append((self._number, opened, ended))
        said = {
            "incarnation": AGENT,
            "number": self._number,
            "opened": opened,
            "ended": ended,
            "complete": complete,
            "decisions": decisions or [],
        }
        status, answer = service.call("POST", f"/v1/nodes/{self.name}/announcements", said)
        assert status == 200, answer
        assert not answer["refused"]
        if answer["instance"] != self._instance:
            self._instance, again = answer["instance"], self._kept
            self._kept = []
            try:
                while again:
                    self._say(service, *again[0][1:])
                    again.pop(0)
            finally:
                self._kept += again  # of a service that is gone: for the next
        self._kept = [kept for kept in self._kept if kept[0] > answer["stored"]]
        asked = {file["placement_id"] for file in answer["open"] or []} - self.open
        if asked:
            self._say(
                service, [], [{"placement_id": placement, "reason": "closed"} for placement in sorted(asked)]
            )


def placements(service: Running, state: str) -> list[str]:
    """The ids of all placements in a state."""
    ids: list[str] = []
    for element in service.call("GET", "/v1/elements")[1]["elements"]:
        query = f"state={state}&element={element['id']}&limit=1000"
        listed = service.call("GET", f"/v1/placements?{query}")[1]["placements"]
        assert len(listed) < 1000
        ids += [placement["placement_id"] for placement in listed]
    return ids


def carried(service: Running) -> int:
    """How many placements all elements carry together."""
    return sum(element["open_placements"] for element in service.call("GET", "/v1/elements")[1]["elements"])


def check_of(service: Running, name: str) -> dict[str, Any]:
    checks = service.call("GET", "/readyz")[1]["checks"]
    named: dict[str, Any] = next(check for check in checks if check["name"] == name)
    return named
