"""ses-share-agent on this machine, as another node's: with munged, and through a provider of libfabric."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from built import BUILD

PROGRAM = BUILD / "extras/share/ses-share-agent"


class Agent:
    """The agent, whose processes see themselves as another node's."""

    def __init__(
        self, *options: str, host: str = "127.0.0.1", inside: tuple[str, ...] = (), user: int | None = None
    ) -> None:
        assert PROGRAM.exists(), "libfabric's headers were not there when this was built"
        self.process = subprocess.Popen(
            [*inside, PROGRAM, "--listen", f"{host}:0", *options],
            stderr=subprocess.PIPE,
            text=True,
            user=user,
        )
        assert self.process.stderr
        said = self.process.stderr.readline()
        assert said.startswith("ses-share-agent: listens on "), said
        self.address = f"{host}:{said.split()[-1]}"

    def end(self) -> str:
        """Stop it, and those who serve; what it said."""
        self.process.terminate()
        return self.process.communicate(timeout=60)[1]


@contextmanager
def agent(
    munged: Path,
    *options: str,
    host: str = "127.0.0.1",
    inside: tuple[str, ...] = (),
    user: int | None = None,
) -> Iterator[Agent]:
    """Run an agent that believes this munged, and let this process believe it as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SES_MUNGE_SOCKET", str(munged))
        running = Agent(*options, host=host, inside=inside, user=user)
        try:
            yield running
        finally:
            running.end()
