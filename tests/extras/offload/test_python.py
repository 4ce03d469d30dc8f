"""`ses.offload`: functions of a Python script, called in another process of it."""

import re
import shutil
from pathlib import Path

import pytest
from offload_programs import answers, run
from ran import ran
from ses.offload.library import DECLARATIONS, Fallback, Status, ffi

ROOT = Path(__file__).parents[3]
HEADERS = "".join(
    (ROOT / "libses/extras/include/ses" / name).read_text() for name in ("offload_types.h", "offload.h")
)


@pytest.fixture(scope="module")
def script(prefix: Path) -> Path:
    """The script and the binding, for every user to read."""
    package = prefix / "ses"
    shutil.copytree(ROOT / "libses/python/ses/offload", package / "offload")
    for name in ("__init__.py", "native.py"):
        shutil.copy(ROOT / "libses/python/ses" / name, package)
    client = prefix / "ses_client"
    client.mkdir()
    for name in ("__init__.py", "errors.py"):
        shutil.copy(ROOT / "ses-service/client/ses_client" / name, client)
    return Path(shutil.copy(Path(__file__).with_name("sums.py"), prefix))


def test_calls_futures_and_failures(prefix: Path, script: Path) -> None:
    library = next(prefix.glob("lib*/**/libses-offload.so"))
    done = run("/usr/bin/python3", script, "one", "two", SES_OFFLOAD_LIBRARY=str(library))
    assert answers(done) == {
        "argv": "onetwo", "summed": "True", "futures": " 0.0 0.5 1.0 1.5 2.0",
        "failed": "FAILED ZeroDivisionError: division by zero", "cancelled": "True",
        "closed": "CancelledError",
        "lost": "LOST", "again": "LOST",
        "plain": "plain is not callable elsewhere: decorate it with function.",
        "start": "the storage part could not be started "
                 "(nowhere: the command that starts the storage part ended)",
        "local": "1.5",
    }  # fmt: skip
    assert "what a function prints" in done.stderr


def test_domain_of_a_file_is_on_the_node_that_holds_it(prefix: Path, script: Path, command) -> None:
    where = {"SES_OFFLOAD_LIBRARY": str(next(prefix.glob("lib*/**/libses-offload.so")))}
    argv = ("/usr/bin/python3", script, "file", "/data/ö")
    assert answers(run(*argv, PATH=command("echo here"), **where)) == {"file": "True"}
    assert (prefix / "bin/words").read_text() == "nodes of --address -- /data/ö\n"
    refused = answers(run(*argv, PATH=command("exit 5"), **where))["file"]
    assert refused.endswith("(/data/ö: no one node is known to hold it (ses nodes of says more))")


def test_what_is_declared_is_what_the_headers_say(tmp_path: Path) -> None:
    """The compiler takes both together: a function declared otherwise is an error, as is another size."""
    declared = re.sub(r"typedef struct \w+ (\w+;|\{[^}]*\} \w+;)", "", DECLARATIONS)
    declared = declared.replace("extern ses_offload_type ses_type_bytes;", "")
    names = ("ses_offload_type", "ses_offload_bytes", "ses_offload_options", "ses_offload_report")
    sizes = "".join(f'_Static_assert(sizeof({name}) == {ffi.sizeof(name)}, "{name}");\n' for name in names)
    source = tmp_path / "both.c"
    source.write_text(f"#include <ses/offload.h>\n{declared}\n{sizes}")
    command = ["gcc", "-std=c11", "-fsyntax-only", "-I", ROOT / "libses/extras/include", source]
    ran(command)


def test_numbers_are_those_of_the_header() -> None:
    numbers = dict(re.findall(r"SES_OFFLOAD_(\w+) = (\d+)", HEADERS))
    fallbacks = {f"FALLBACK_{fallback.name}": str(fallback.value) for fallback in Fallback}
    assert numbers == {status.name: str(status.value) for status in Status} | fallbacks
