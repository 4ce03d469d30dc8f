"""A service that is away, slow or talks rubbish: programs are told in time, and all mends itself."""

import os
from collections.abc import Callable
from pathlib import Path

import program_side as side
import pytest
from claims_program import Table
from fake_service import Answer, FakeService, Request, as_usual, problem
from patience import PATIENCE, wait_until
from running_agent import Agent, Start


def only_announcements(answer: Answer) -> Callable[[Request], Answer | None]:
    return lambda request: answer if request.path.endswith("/announcements") else None


def always(answer: Answer) -> Callable[[Request], Answer | None]:
    return lambda _: answer


FAULTS = {
    "internal-error": Answer(500, b"<html>oops</html>"),
    "starting": problem(503, "not-ready", "starting"),
    "not-json": Answer(200, b"\x00\xff{{{"),
    "other-json": Answer(200, [1, 2, 3]),
    "redirect": Answer(302, {}, {"Location": "/elsewhere"}),
    "token-refused": problem(401, "unauthorized", "unknown token"),
    "huge": Answer(200, b"[" + b" " * (5 << 20) + b"]"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_answer_that_cannot_be_used_mends_itself(start: Start, service: FakeService, fault: Answer) -> None:
    service.instead = only_announcements(fault)
    agent = start("--answer-ms", "200", until="answers on")
    assert agent.status() == side.UNAVAILABLE
    agent.wait_for("lost (")
    notice = Path(f"{agent.socket}.service")
    wait_until(lambda: notice.read_text().startswith(f"lost {service.url} "), "it says so beside its socket")
    assert notice.stat().st_mode & 0o777 == 0o644, "ses doctor of any user reads it"
    service.instead = as_usual
    wait_until(agent.places, "programs are placed again")
    wait_until(lambda: notice.read_text() == f"reached {service.url}\n", "it says so")
    agent.wait_for("service found again")


_LOAD = [0, 0.0, 0.0, 0, 0, 0, 0, 1e9, 0, 0.5, 0, 0, 0, 0.0, 0.0]
_ELEMENT = {"element": "union/b1", "target": "/b1", "server": 0, "scarce": False}
_TABLE = {
    **{"system": "union", "revision": "bad", "version": 1, "sent_at": 1e9, "total": 1, "rate": 0},
    **{"max_age_seconds": 1, "policy": {}, "elements": [_ELEMENT], "loads": [_LOAD]},
}


@pytest.mark.parametrize(
    "table",
    [
        {**_TABLE, "loads": []},
        {**_TABLE, "loads": [[64, *_LOAD[1:]]]},
        {**_TABLE, "loads": [[-1, *_LOAD[1:]]]},
        {**_TABLE, "loads": [_LOAD[:5]]},
        {**_TABLE, "loads": [[0, "x", *_LOAD[2:]]]},
        {**_TABLE, "loads": [[0, -1.0, *_LOAD[2:]]]},
        {**_TABLE, "elements": [_ELEMENT] * 65, "loads": [[row, *_LOAD[1:]] for row in range(64)]},
        {**_TABLE, "elements": [{**_ELEMENT, "element": "x" * 200}]},
        {**_TABLE, "policy": {"saturation": "high"}},
        {"system": "union"},
        7,
    ],
    ids=[
        "no-loads",
        "row-64",
        "row-minus",
        "short",
        "text",
        "negative",
        "65",
        "long",
        "policy",
        "empty",
        "7",
    ],
)
def test_table_that_makes_no_sense_changes_nothing(agent: Agent, service: FakeService, table: object) -> None:
    assert agent.status() == side.PLACE
    published = Table(agent.socket)
    before = [row.element for row in published.rows()]
    usual = service._announced

    def nonsense(request: Request) -> Answer | None:
        if not request.path.endswith("/announcements"):
            return None
        answer = usual(request.body)
        answer.body["tables"] = [table]
        return answer

    service.instead = nonsense
    agent.wait_for("makes no sense")
    assert [row.element for row in published.rows()] == before
    assert agent.status() == side.PLACE
    published.detach()


def test_refused_token_is_named_in_the_log(start: Start, service: FakeService) -> None:
    service.instead = only_announcements(FAULTS["token-refused"])
    agent = start("--answer-ms", "200", until="answers on")
    assert agent.status() == side.UNAVAILABLE
    agent.wait_for("it refuses this node: HTTP 401 unknown token")


def test_dead_service_is_done_without_at_once(agent: Agent, service: FakeService) -> None:
    assert agent.status() == side.PLACE
    service.kill()
    assert agent.status() == side.PLACE
    agent.wait_for("lost (")
    assert agent.status() == side.PLACE
    service.revive()
    agent.wait_for("service found again")
    assert agent.status() == side.PLACE


def test_service_that_was_never_there_is_unavailable_until_it_comes(
    start: Start, service: FakeService
) -> None:
    service.kill()
    agent = start(until="answers on")
    assert agent.status() == side.UNAVAILABLE
    service.revive()
    wait_until(agent.places, "programs are placed again")


def test_loss_is_logged_once_however_many_ask(start: Start, service: FakeService) -> None:
    agent = start(until="union has 2 candidates")
    service.kill()
    agent.wait_for("lost (")
    for number in range(50):
        assert agent.status(f"app{number}") == side.PLACE
    agent.wait_for("still lost")
    warnings = [line for line in agent.log.read_text().splitlines() if "warning: service at" in line]
    assert len([warning for warning in warnings if "(no reply within" not in warning]) <= 1 <= len(warnings)


def test_hanging_service_costs_a_program_its_budget_and_no_more(start: Start, service: FakeService) -> None:
    service.instead = only_announcements(Answer(delay=3600.0))
    agent = start("--answer-ms", "50", until="answers on")
    assert agent.status() == side.UNAVAILABLE
    agent.wait_for("lost (no reply within")
    service.instead = as_usual
    service.released.set()
    wait_until(agent.places, "programs are placed again")


def test_a_service_with_much_to_do_is_not_lost(start: Start, service: FakeService, tmp_path: Path) -> None:
    """Asked again, it would have still more to do, and know of the file later."""
    agent = start()
    wait_until(agent.places, "programs are placed again")

    def slowly(_: Request) -> None:
        service.released.wait(1.5)

    service.instead = slowly
    with agent.ask() as conversation:
        conversation.create(tmp_path / "file")
        placement = conversation.answer.placement
        wait_until(lambda: placement in service.decided, "it is reported")
    service.released.set()
    assert not agent.says("lost ("), agent.log.read_text()


def test_service_that_asks_to_be_left_alone_is(start: Start, service: FakeService) -> None:
    service.pace = 1.0
    agent = start(until="union has 2 candidates")
    service.instead = always(problem(503, "busy", "later", **{"Retry-After": "5"}))
    assert agent.status() == side.PLACE
    agent.wait_for("lost (")
    asked = service.requests[-1].at

    def later() -> list[float]:
        """When it asked, but for what was under way when it was told to wait."""
        return [request.at - asked for request in list(service.requests) if request.at - asked > 2]

    wait_until(lambda: bool(later()), "the agent asks again")
    assert later()[0] > 4.5


def test_reports_wait_for_the_service_to_come_back(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    conversation = agent.ask()
    placement = conversation.answer.placement
    service.kill()
    fd = conversation.create(tmp_path / "file")
    agent.wait_for("lost (")
    os.write(fd, b"abc")
    os.close(fd)
    service.revive()
    wait_until(lambda: service.ended(placement), "the end is reported")
    assert service.ended(placement) == [{"reason": "closed", "bytes_written": 3}]
    assert service.opened(placement), "reported before the end"


def test_open_files_are_announced_again_to_a_service_that_restarted(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    conversation = agent.ask()
    placement = conversation.answer.placement
    fd = conversation.create(tmp_path / "file")
    wait_until(lambda: service.opened(placement), "it is reported")
    (opened,) = service.opened(placement)
    service.kill()
    service.forget()
    service.revive()
    wait_until(lambda: service.restored(placement), "it is reported again, with how it came about")
    assert service.opened(placement) == [opened]
    (restore,) = service.restored(placement)[:1]
    assert abs(restore.pop("placed_at") - opened["opened_at"]) < PATIENCE
    assert restore == {
        "element": conversation.answer.element,
        "expected_bytes": None,
        "distance": conversation.answer.distance,
        "decided_by": "agent",
        "notes": [],
    }
    os.close(fd)
    service.wait_for_end(placement)


def test_report_that_breaks_the_service_does_not_hold_up_the_others(
    agent: Agent, service: FakeService, tmp_path: Path
) -> None:
    tried: list[str] = []
    cursed = ""

    def broken(request: Request) -> Answer | None:
        ends = [end["placement_id"] for end in request.body.get("ended", ())]
        tried.extend(end for end in ends if end == cursed)
        return Answer(500, {}) if cursed in ends else None

    asked = [agent.ask() for _ in range(5)]
    files = [conversation.create(tmp_path / f"f{number}") for number, conversation in enumerate(asked)]
    cursed, *others = (conversation.answer.placement for conversation in asked)
    wait_until(lambda: len(service.open_now()) == 5, "all are reported")
    before = len(service.announcements())
    service.instead = broken
    for fd in files:
        os.close(fd)
    wait_until(lambda: all(service.ended(placement) for placement in others), "the others are reported")
    agent.wait_for("the service refuses a report, which is dropped: HTTP 500")
    assert 3 <= len(tried) < 20, "it is not tried for ever"

    def complete() -> list[Request]:
        return [
            announcement for announcement in service.announcements()[before:] if announcement.body["complete"]
        ]

    wait_until(complete, "all that is open is reported: what is not listed has ended")
    assert cursed not in {file["placement_id"] for file in complete()[-1].body["opened"]}


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """A file with the token of the node."""
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text("secret-1\n")
    return file


def test_token_of_the_file_is_shown_to_the_service(start: Start, service: FakeService, token: Path) -> None:
    agent = start("--token-file", str(token))
    assert agent.status() == side.PLACE
    assert {request.token for request in service.requests} == {"Bearer secret-1"}
    assert not agent.says("secret-1")


def test_replaced_token_is_read_when_the_old_one_is_refused(
    start: Start, service: FakeService, token: Path
) -> None:
    agent = start("--token-file", str(token))
    refused = problem(401, "unauthorized", "revoked")
    service.instead = lambda request: refused if request.token != "Bearer secret-2" else None
    agent.wait_for("lost (")
    token.write_text("secret-2\n")
    agent.wait_for("service found again")


def test_a_token_that_took_the_place_of_another_is_shown_before_the_old_one_is_refused(
    start: Start, service: FakeService, token: Path
) -> None:
    agent = start("--token-file", str(token))
    token.write_text("secret-2\n")
    wait_until(lambda: service.requests[-1].token == "Bearer secret-2", "the second token is shown")
    assert not agent.says("lost (") or agent.was_kept_waiting()
