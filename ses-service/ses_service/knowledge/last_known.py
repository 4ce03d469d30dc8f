"""What was last read of the knowledge base, in a file, for a start while the store is away.

Kept are the store's answers, question by question, and not what was made of them: a service that asks other
questions than the one that wrote the file finds no answers in it and starts without.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog

from ses_service.knowledge.environment import read_environment
from ses_service.knowledge.errors import KnowledgeBaseError, StoreUnavailableError
from ses_service.knowledge.requirements import read_requirement_sets
from ses_service.knowledge.shrinking import Acceptance, Size
from ses_service.knowledge.store.store import Row, SparqlReader
from ses_service.model.entities import Environment, RequirementSet
from ses_service.security.whole_file import write_whole

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A reading of the past; ``read_at`` in seconds since the epoch."""

    environment: Environment
    sets: tuple[RequirementSet, ...]
    read_at: float


class Recorder:
    """Reads from a store, or from nothing, and keeps every answer; what was kept is not asked again."""

    def __init__(self, reader: SparqlReader | None, answers: Mapping[str, list[Row]] | None = None) -> None:
        self._reader = reader
        self.answers = dict(answers or {})

    def select(self, query: str, *, patience: float = 1.0) -> list[Row]:
        """Return the rows a SELECT query gives; may take ``patience`` times as long as usual."""
        if query not in self.answers:
            if self._reader is None:
                raise StoreUnavailableError("the copy has no answer to this question")
            self.answers[query] = self._reader.select(query, patience=patience)
        return self.answers[query]


class LastKnown:
    """The file ``path``, written whenever something else was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._readings: dict[str, str] = {}
        self.acceptance = Acceptance(path.parent)

    def note(self, part: str, recorder: Recorder) -> None:
        """Take what was read of one part, to be written with the others whenever one was read again."""
        self._readings[part] = json.dumps(recorder.answers)[1:-1]

    def size(self) -> Size:
        """Return how much the file holds; nothing where there is none that can be read."""
        try:
            return Size(**json.loads(self._path.read_text("utf-8"))["size"])
        except (OSError, ValueError, KeyError, TypeError):
            return Size()

    def write(self, revision: str, now: float, size: Size) -> None:
        """Write what was noted last of every part.  A file that cannot be written is logged and no more."""
        answers = ", ".join(filter(None, self._readings.values()))
        head = json.dumps({"revision": revision, "read_at": now, "size": asdict(size)})[:-1]
        text = f'{head}, "answers": {{{answers}}}}}'
        try:
            write_whole(self._path, text.encode())
        except OSError as error:
            _log.warning("the copy of the knowledge base cannot be written", detail=str(error))

    def recall(self) -> Recalled | None:
        """Return what the file holds; ``None`` when there is none that can be used, and the log says why."""
        try:
            held = json.loads(self._path.read_text("utf-8"))
            reader = Recorder(None, held["answers"])
            of_site = str(held["revision"]).rpartition(".")[0]
            environment = read_environment(reader, of_site)
            return Recalled(environment, read_requirement_sets(reader), float(held["read_at"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, KnowledgeBaseError) as error:
            _log.warning(
                "the copy of the knowledge base cannot be used", path=str(self._path), detail=str(error)
            )
            return None
