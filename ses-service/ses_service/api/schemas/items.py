"""Messages about many files and users: an item that is refused is left out and named, the others are taken.

The whole message is validated first, so that one that is right costs nothing more.  Only where that fails are
the places of the errors looked at, and what is left is validated once more.
"""

import re
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

PLACEMENT_ID = r"^[0-9a-f]{16}$"
MAX_ERRORS = 50_000  # in one message: no agent has that many
MAX_AT_ONCE = 2**16  # bytes of JSON that are looked at a second time on the event loop; more are in a thread
_MAX_DETAIL = 300


class Refused(NamedTuple):
    """An item that was left out: the list it was in, its place there, what it was, and why."""

    list: str
    number: int
    item: Any
    detail: str

    @property
    def placement_id(self) -> str:
        """That of a file; empty where it has none."""
        named = self.item.get("placement_id") if isinstance(self.item, dict) else None
        return named if isinstance(named, str) and re.fullmatch(PLACEMENT_ID, named) else ""


class Itemised(BaseModel):
    """A message whose items, those of the lists ``ITEMS`` and of the objects among them, stand alone."""

    ITEMS: ClassVar[frozenset[str]]
    refused: ClassVar[tuple[Refused, ...]] = ()
    """What was left out; an attribute of pydantic's own would be slow to find."""

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Return what can be taken of this; raises ValidationError where that is nothing."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            return cls._without_refused(obj, error)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Return what can be taken of this; raises ValidationError where that is nothing."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            if len(json_data) > MAX_AT_ONCE:
                raise
            if error.error_count() == 1 and error.errors()[0]["type"] == "json_invalid":
                raise
            return cls._without_refused(from_json(json_data), error)

    @classmethod
    def _without_refused(cls, obj: Any, error: ValidationError) -> Self:
        """Return a message without the items that the error is about; raises it if it is about more."""
        if error.error_count() > MAX_ERRORS:
            raise error
        wrong: dict[str, dict[Any, str]] = {}
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            where = fault["loc"]
            if len(where) < 2 or where[0] not in cls.ITEMS:
                raise error
            path = ".".join(map(str, where[2:]))
            detail = f"{path}: {fault['msg']}" if path else fault["msg"]
            wrong.setdefault(str(where[0]), {}).setdefault(where[1], detail[:_MAX_DETAIL])
        message, refused = dict(obj), []
        for name, details in wrong.items():
            items = obj[name]
            keyed = items if isinstance(items, dict) else dict(enumerate(items))
            for number, (key, item) in enumerate(keyed.items()):
                if key in details:
                    refused.append(Refused(name, number, item, details[key]))
            kept = {key: item for key, item in keyed.items() if key not in details}
            message[name] = kept if isinstance(items, dict) else list(kept.values())
        taken = super().model_validate(message)
        object.__setattr__(taken, "refused", tuple(refused))
        return taken
