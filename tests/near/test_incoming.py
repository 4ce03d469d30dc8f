"""Waiting for what a command prints: nothing is missed, not even a signal right before the wait."""

import os
import signal
import threading

from ses.near.execution.incoming import Incoming

PATIENCE = 60.0


def test_signal_that_does_not_interrupt_the_wait_is_heeded_all_the_same():
    """It reaches another thread here, as it would this one between Python's last look and the system call."""
    reader, writer = os.pipe()
    incoming = Incoming(os.fdopen(reader, "rb", buffering=0))
    heeded, given_up, waits = [], [], threading.Event()

    def interrupt():
        waits.wait(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        if not waits.wait(PATIENCE):
            given_up.append(True)
            incoming.end()

    def handler(number, _):
        heeded.append(number)
        incoming.end()
        waits.set()

    before = signal.signal(signal.SIGUSR1, handler)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        assert incoming.read(1) == b""
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
        incoming.close()
        os.close(writer)
    assert (heeded, given_up) == ([signal.SIGUSR1], [])
