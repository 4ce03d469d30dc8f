"""Being asked to stop: only between steps, and never while undoing."""

import os
import signal

import pytest
from ses.demo.faults import DemoError, StoppedError
from ses.demo.interrupts import Interrupts, stoppable
from ses.output import console


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_noticed_at_the_next_check(number):
    with Interrupts() as interrupts:
        interrupts.check()
        os.kill(os.getpid(), number)
        with pytest.raises(StoppedError) as stopped:
            interrupts.check()
    assert stopped.value.signal_number == number


def test_while_undoing_signals_change_nothing():
    undone = []

    def undo_all(interrupts):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        interrupts.check()
        interrupts.pause(0.01)
        undone.append(True)

    with Interrupts() as interrupts, interrupts.undoing(undone.append) as undo:
        undo.callback(undo_all, interrupts)
    assert undone == ["stopping and removing everything", True]


def fails_after(number):
    os.kill(os.getpid(), number)
    raise DemoError("grep ended with status -2.")


def refused():
    raise DemoError("The directory could not be removed.")


def test_what_fails_after_a_signal_was_stopped_by_it():
    """Ctrl-C at a terminal also ends the programs that were started."""

    def long_work():
        with Interrupts() as interrupts, interrupts.undoing(lambda _step: None):
            fails_after(signal.SIGINT)

    with pytest.raises(StoppedError):
        long_work()


def test_what_cannot_be_undone_is_said_also_after_a_signal():
    def long_work():
        with stoppable(console()) as (interrupts, _), interrupts.undoing(lambda _step: None) as undo:
            undo.callback(refused)
            fails_after(signal.SIGINT)

    with pytest.raises(DemoError, match="could not be removed"):
        long_work()


def test_what_comes_after_the_undoing_can_be_stopped_too():
    """As the second of two experiments."""

    def both():
        with Interrupts() as interrupts:
            for _ in range(2):
                with interrupts.undoing(lambda _step: None) as undo:
                    interrupts.check()
                    undo.callback(os.kill, os.getpid(), signal.SIGINT)

    with pytest.raises(StoppedError):
        both()


def test_a_program_that_was_stopped_ends_with_the_signals_number(capsys):
    def long_work():
        with stoppable(console()):
            fails_after(signal.SIGTERM)

    with pytest.raises(SystemExit) as ended:
        long_work()
    assert ended.value.code == 128 + signal.SIGTERM
    assert capsys.readouterr().out == "Stopped; everything that was made is removed again.\n"


def test_a_pause_ends_by_a_signal():
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StoppedError):
            interrupts.pause(3600)


def test_waiting_for_something_that_never_comes_names_it():
    with Interrupts() as interrupts, pytest.raises(DemoError, match="The moon did not rise"):
        interrupts.until(lambda: False, 0.01, "The moon did not rise")


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            interrupts.check()
    finally:
        signal.signal(signal.SIGHUP, before)
