"""A selection service of its own over the example site, with an administrator, a person and a node."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from click.testing import CliRunner, Result
from ses.cli import main
from ses_service.security.tokens import Role, add_token

ROOT = Path(__file__).parents[2]


@dataclass
class KnowledgeService:
    """Runs ``ses`` as one of the people the service knows."""

    url: str
    folder: Path

    def __call__(
        self, *args: str, who: str = "admin", text: str | None = None, code: int | None = None
    ) -> Result:
        env = {
            "SES_SERVICE_URL": self.url,
            "SES_TOKEN_FILE": str(self.folder / f"token-{who}"),
            "COLUMNS": "160",
        }
        result = CliRunner().invoke(main, list(args), env=env, input=text)
        assert code in (None, result.exit_code), result.output
        return result


@contextmanager
def knowledge_service(folder: Path) -> Iterator[KnowledgeService]:
    """Start one; ends it with the block."""
    tokens = folder / "tokens"
    for name, role in (("admin", Role.ADMIN), ("alice", Role.USER), ("node", Role.NODE)):
        whose = {Role.USER: {"user": name}, Role.NODE: {"node": "n1"}}
        token = add_token(tokens, role, name, **whose.get(role, {}))
        path = folder / f"token-{name}"
        path.write_text(token)
        path.chmod(0o600)
    process = _service_process()
    running = process.Running(folder, f"--site={process.SITE}", f"--tokens={tokens}")
    try:
        running.wait_ready()
        yield KnowledgeService(f"http://127.0.0.1:{running.port}", folder)
    finally:
        running.end()


def _service_process() -> ModuleType:
    path = ROOT / "tests/service/service_process.py"
    spec = importlib.util.spec_from_file_location("service_process", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("service_process", module)
    spec.loader.exec_module(module)
    return module
