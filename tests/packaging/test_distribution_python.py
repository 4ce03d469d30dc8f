"""The packaged ``ses`` starts with the Python and the libraries of the distribution it is packaged for."""

import os
from pathlib import Path

from ran import ran

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"
HELP = """
import click
from ses.cli import main

def look(command, path):
    with click.Context(command, info_name="ses") as context:
        assert command.get_help(context)
        for name in getattr(command, "list_commands", lambda _: ())(context):
            look(command.get_command(context, name), [*path, name])
    print(*path)

look(main, [])
main(["--version"])
"""


def test_every_command_starts_with_the_libraries_of_the_distribution(tmp_path: Path) -> None:
    metadata = tmp_path / "qstorman_ses-0.1.0.dist-info"  # as the packages' recipes write it
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: qstorman-ses\nVersion: 0.1.0\n")
    folders = (ROOT / "libses/python", ROOT / "ses-service/client", tmp_path)
    paths = os.pathsep.join(map(str, folders))
    done = ran(
        [SYSTEM_PYTHON, "-s", "-c", HELP],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert {"kb validate", "status"} <= set(done.stdout.splitlines())
