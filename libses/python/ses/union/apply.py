"""``ses apply`` of a mergerfs union: hold branches back from its own choice, and give them back."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from ses_client.client import ServiceClient
from ses_client.errors import NotFoundError, SesError
from ses_client.messages.requirements import Subject
from ses_client.unions import read_union, union_of

from ses.output import console, line, print_json
from ses.union.creations import Creations
from ses.union.held import alone, give_back, held, hold, read_branches, reasons, spaces
from ses.union.questions import Questions, ask
from ses.union.steering import Decision, Floor, decide, why_not
from ses.union.streams import Streams

EVERY_SECONDS = 0.2
_REST = 4.0  # times the processor time of a look until the next: they take a fifth of a processor at most
_BLIND_SECONDS = 15.0  # without a look, before everything is given back: what is old is not known


def is_union(directory: Path) -> bool:
    """Return whether a mergerfs union is mounted there.  Raises NotFoundError for a directory of one."""
    try:
        read_union(directory)
    except NotFoundError:
        if mount := union_of(directory):
            raise NotFoundError(f"{directory} is a directory of a mergerfs union: name {mount}.") from None
        return False
    except SesError:  # it is one, which does not say what its branches are: whoever uses it says so
        pass
    return True


def undo_union(directory: Path, as_json: bool) -> None:
    """Give a union back what it had, and report."""
    union = read_union(directory)
    with alone(union):
        before = give_back(directory)
    if not before:
        raise NotFoundError(f"No branch of {directory} is held back.")
    _report(directory, dict.fromkeys(before, ""), {}, as_json)


def steer(
    client: ServiceClient,
    directory: Path,
    subject: Subject,
    floor: Floor,
    every: float | None,
    as_json: bool,
) -> None:
    """Hold branches back as long as that is right, a look ``every`` seconds; None: show what would be.

    Ends by Ctrl-C, or SIGTERM, and gives everything back.
    """
    union = read_union(directory)
    if why := why_not(union):
        raise SesError(f"{directory} is left as it is: {why}.")
    if every is None:
        loads = ask(client, directory, subject)
        _show(directory, decide(union, spaces(union), loads, Streams(), floor), as_json)
        return
    over = threading.Event()

    def interrupt(*_: object) -> None:
        over.set()  # the exception may be lost, where it is raised in what Python calls by itself
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    with alone(union):
        try:
            _watch(client, directory, subject, floor, every, as_json, over)
        except KeyboardInterrupt:
            pass
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            _report(directory, dict.fromkeys(give_back(directory), ""), {}, as_json)


def _watch(
    client: ServiceClient,
    directory: Path,
    subject: Subject,
    floor: Floor,
    every: float,
    as_json: bool,
    over: threading.Event,
) -> None:
    answer, union, streams, noted = None, read_union(directory), Streams(), ""
    shown: dict[str, str] = {}
    with Questions(client, directory, subject) as questions, closing(Creations()) as creations:
        while not over.is_set():
            next_look, processor = time.monotonic() + every, time.thread_time()
            why = trouble = kind = ""
            try:
                latest = questions.latest()
                if latest is not answer:
                    answer, union = latest, read_branches(latest.union)
                    before, shown = shown, reasons(union)
                    _report(directory, before, shown, as_json)
                    creations.watch(branch.path for branch in union.branches)
                why = trouble = kind = why_not(union)
                if not why and questions.silent_for() < _BLIND_SECONDS:
                    decision = decide(union, spaces(union), answer.loads, streams, floor)
                    union = hold(union, decision.held)
                    trouble, kind = "; ".join(decision.notes), "floor" if decision.notes else ""
            except SesError as error:
                trouble = kind = str(error)
            if held(union) and (why or questions.silent_for() > _BLIND_SECONDS):
                union = hold(union, {})
            if kind and kind != noted:  # its figures change all the time
                line(console(sys.stderr), f"{directory}: {trouble}", "yellow")
            noted = kind
            time.sleep(_REST * (time.thread_time() - processor))
            creations.wait(next_look - time.monotonic())


def _show(directory: Path, decision: Decision, as_json: bool) -> None:
    if as_json:
        print_json({"union": str(directory), "would_hold_back": decision.held, "notes": decision.notes})
        return
    out = console()
    if not decision.held:
        line(out, f"{directory}: every branch would stay in the union's choice")
    for path, why in decision.held.items():
        line(out, f"{directory}: {path} would be held back: {why}")
    for note in decision.notes:
        line(out, note, "yellow")


def _report(directory: Path, before: Mapping[str, str], after: Mapping[str, str], as_json: bool) -> None:
    """Print what has changed, a line for each branch."""
    changed = sorted(before.keys() ^ after.keys())
    if as_json and changed:
        back = sorted(before.keys() - after.keys())
        print_json({"union": str(directory), "held_back": dict(after), "given_back": back})
        return
    for path in changed:
        words = f"held back: {after[path]}" if path in after else "given back"
        line(console(), f"{directory}: {path} {words}")
