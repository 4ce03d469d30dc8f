"""Nodes as network namespaces of this machine, and links between them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from ses.demo.tools import tool


def namespace(name: str, undo: ExitStack) -> None:
    """Make a network namespace of this name, until ``undo`` is closed; raises DemoError."""
    undo.callback(_remove, name)
    tool("ip", "netns", "add", name)
    tool("ip", "-n", name, "link", "set", "lo", "up")


def link(here: tuple[str, str], there: tuple[str, str], device: str, bits: int = 24) -> None:
    """Link two namespaces ("": this one); each is a name and the address it gets.  Raises DemoError.

    The device of the link is called ``device`` here, and ``wire`` there; it goes with either namespace.
    """
    name, address = here
    other, its_address = there
    tool("ip", *_in(name), "link", "add", device, "type", "veth", "peer", "name", "wire", "netns", other)
    for space, end, of in ((name, device, address), (other, "wire", its_address)):
        tool("ip", *_in(space), "addr", "add", f"{of}/{bits}", "dev", end)
        tool("ip", *_in(space), "link", "set", end, "up")


def inside(name: str) -> tuple[str, ...]:
    """Return what runs a command in a namespace, with the mounts of this process."""
    return ("nsenter", f"--net=/run/netns/{name}")


def limit(name: str, device: str, bits_per_second: float, burst: str) -> None:
    """Limit what a namespace ("": this one) sends on a device; raises DemoError."""
    tool("tc", *_in(name), "qdisc", "replace", "dev", device, "root", "tbf",
         "rate", f"{bits_per_second:.0f}bit", "burst", burst, "latency", "50ms")  # fmt: skip


def _in(name: str) -> tuple[str, ...]:
    return ("-n", name) if name else ()


def _remove(name: str) -> None:
    if Path("/run/netns", name).exists():
        tool("ip", "netns", "del", name)
