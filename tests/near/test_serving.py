"""``ses serve-runs``: what one starts in the portal runs here once, as words, and ends when it is to."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from patience import wait_until
from ses.near import serving
from ses.near.serving import RefusedRunError, Terms, serve, words_of
from ses_client.errors import NotAllowedError, NotFoundError, UnreachableError
from ses_client.messages.runs import NearRun


def run(*command: str, files: Any = ("*.txt",), run_id: str = "a" * 16, options: Any = ()) -> NearRun:
    its = {"run_id": run_id, "files": files, "command": command, "options": options}
    return NearRun(**its, state="running", asked_at=0.0)


class Service:
    """Gives out runs, and ends who asks when there is none; ``answers`` are those to reports."""

    def __init__(self, *runs: NearRun) -> None:
        self.waiting = list(runs)
        self.reports: list[dict[str, Any]] = []
        self.answers: Callable[[], NearRun] = lambda: run("x")

    def take_run(self, _node: str, _directory: str) -> NearRun:
        if not self.waiting:
            raise SystemExit(0)
        return self.waiting.pop(0)

    def report_run(self, _run_id: str, known: dict[str, Any]) -> NearRun:
        self.reports.append(known)
        return self.answers()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_REPORT_SECONDS", 0.1)
    monkeypatch.setattr(serving, "_ASK_SECONDS", 0.01)


@pytest.fixture
def terms(tmp_path: Path) -> Terms:
    """Serves runs in a directory with three files."""
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"{number} $(id)\n")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "SES_SERVICE_URL": "http://127.0.0.1:1"}
    return Terms("login1", tmp_path, frozenset(), (), environment)


def served(service: Service, terms: Terms) -> dict[str, Any]:
    """Serve all runs, and return the last report."""
    with pytest.raises(SystemExit):
        serve(service, terms, lambda _text: None)  # type: ignore[arg-type]
    return service.reports[-1]


def test_run_is_what_map_near_prints_and_no_shell_reads_it(terms: Terms) -> None:
    service = Service(run("grep", "-h", "$(id)", "{}"))
    last = served(service, terms)
    assert (last["state"], last["exit_status"], last["tasks"], last["tasks_done"]) == ("ended", 0, 3, 3)
    assert Path(last["output"]).read_text() == "0 $(id)\n1 $(id)\n2 $(id)\n"
    assert (last["bytes_read"], last["bytes_returned"]) == (24, 24)
    assert "3 tasks in" in last["errors"]


def test_run_that_was_run_before_is_not_run_again(terms: Terms) -> None:
    (terms.folder / f"{'a' * 16}.out").write_text("before")
    last = served(Service(run("cat", "{}")), terms)
    assert (last["state"], "it ran before" in last["errors"]) == ("refused", True)
    assert (terms.folder / f"{'a' * 16}.out").read_text() == "before"


def test_service_that_is_away_stops_nothing_and_hears_of_the_end(terms: Terms) -> None:
    service = Service(run("sh", "-c", 'sleep 0.3; cat "$0"', "{}"))
    tries = iter(range(5))

    def away_at_first() -> NearRun:
        if next(tries, None) is not None:
            raise UnreachableError("away")
        return run("x")

    service.answers = away_at_first
    assert served(service, terms)["state"] == "ended"
    assert next(tries, None) is None


SLEEPS = ("sh", "-c", 'echo $$ >"$0.pid"; exec sleep 600', "{}")


def sleeping(terms: Terms) -> int:
    """The process of the program of a run, once there is one."""
    kept = terms.folder / "0.txt.pid"
    wait_until(lambda: kept.exists() and kept.read_text().strip() != "", "the program did not start")
    return int(kept.read_text())


def is_there(pid: int) -> bool:
    with suppress(OSError):
        return b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@pytest.mark.parametrize("how", ["stop", "forgotten"])
def test_run_that_is_to_stop_ends_with_its_program(terms: Terms, how: str) -> None:
    service = Service(run(*SLEEPS, files=("0.txt",)))

    def answer() -> NearRun:
        if not (terms.folder / "0.txt.pid").exists():
            return run("x")
        if how == "forgotten":
            raise NotFoundError("no run")
        return run("x").but(stop=True)

    service.answers = answer
    last = served(service, terms)
    assert (last["state"], last["exit_status"]) == ("stopped", 143)
    wait_until(lambda: not is_there(sleeping(terms)), "the program runs on")


def test_token_that_is_not_accepted_any_more_ends_what_runs(terms: Terms) -> None:
    service = Service(run(*SLEEPS, files=("0.txt",)))

    def answer() -> NearRun:
        if (terms.folder / "0.txt.pid").exists():
            raise NotAllowedError("revoked")
        return run("x")

    service.answers = answer
    with pytest.raises(NotAllowedError):
        serve(service, terms, lambda _text: None)  # type: ignore[arg-type]
    wait_until(lambda: not is_there(sleeping(terms)), "the program runs on")


def test_program_ends_with_a_server_that_is_killed(terms: Terms) -> None:
    child = os.fork()
    if child == 0:
        try:
            serve(Service(run(*SLEEPS, files=("0.txt",))), terms, lambda _text: None)  # type: ignore[arg-type]
        finally:
            os._exit(1)
    pid = sleeping(terms)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    wait_until(lambda: not is_there(pid), "the program outlives who served it")


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (run("cat", "{}", files=("--rsh=sh",)), "could be an option"),
        (run("cat", "{}", files=("--",)), "could be an option"),
        (run("cat", "{}", run_id="../../x"), "id"),
        (run("cat", "{}", options=("--rsh=sh -c x",)), "not have the option --rsh"),
        (run("rm", "{}"), "runs only cat, sort, not rm"),
        (run("/tmp/cat", "{}"), "not /tmp/cat"),
        (run("cat", "{}", options=("--reduce=sh -c x",)), "not sh"),
        (run("cat", "{}", options=("--reduce='",)), "quotation"),
        (run(), "no command"),
    ],
)
def test_what_could_be_another_command_is_refused(terms: Terms, odd: NearRun, says: str) -> None:
    few = Terms(terms.node, terms.folder, frozenset({"cat", "sort"}), (), {})
    with pytest.raises(RefusedRunError, match=says):
        words_of(odd, few)
    assert served(Service(odd), few)["state"] == "refused"


def test_options_are_single_words_and_those_of_the_server_come_last(terms: Terms) -> None:
    own = Terms(terms.node, terms.folder, frozenset(), ("--memory=1GB",), {})
    wanted = run("cat", "--", "{}", options=("--reduce=sort -u", "--memory=9GB", "--force"))
    assert words_of(wanted, own) == [
        "--reduce=sort -u", "--memory=9GB", "--force", "--memory=1GB", "*.txt", "--", "cat", "--", "{}",
    ]  # fmt: skip
