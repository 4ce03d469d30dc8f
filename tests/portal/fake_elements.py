"""The part of the selection service inside the process that changes elements and knows their past.

Answers have the form of the real ones.  It does NOT check a change against shapes, and says of an effect only
how many files are open there.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from fake_groups import SOURCES
from ses_client.errors import ConflictError, NotFoundError, RefusedError, UnavailableError
from ses_client.messages.elements import (
    Check,
    Element,
    History,
    HistoryPoint,
    Inventory,
    Readiness,
    StorageSystem,
)
from ses_client.messages.knowledge import Change, State
from ses_client.messages.nodes import HeardNodes, NodeClasses

_PROPERTIES = {
    "state": "qsm:state",
    "state_reason": "qsm:stateReason",
    "state_until": "qsm:stateUntil",
    "tier": "qsm:tier",
    "pool": "qsm:pool",
    "server": "qsm:server",
    "target": "qsm:target",
    "label": "rdfs:label",
    "read_mb_s": "qsm:readRate",
    "write_mb_s": "qsm:writeRate",
}


class ElementsInMemory:
    """``past`` has the steps of elements by name; without them the monitor does not answer.

    ``heard``, ``classes`` and ``ready`` are what it says of nodes and of itself.
    """

    places: list[Element]
    person: str
    extra_changes: list[tuple[Change, State]]
    _clock: Callable[[], float]

    def __init__(self) -> None:
        self.past: dict[str, tuple[HistoryPoint, ...]] = {}
        self.heard = HeardNodes(nodes=(), silent=())
        self.classes = NodeClasses(node_classes=())
        self.ready = Readiness(ready=True, checks=(Check(name="decision", ok=True, detail="all defaults"),))
        super().__init__()

    def element(self, element: str) -> Inventory:
        place = self._place(element)
        self._called()
        return Inventory(
            elements=(place,), generated_at=datetime.fromtimestamp(self._clock(), UTC).isoformat(), **SOURCES
        )

    def nodes(self) -> HeardNodes:
        self._called()
        return self.heard

    def node_classes(self) -> NodeClasses:
        self._called()
        return self.classes

    def readiness(self) -> Readiness:
        self._called()
        return self.ready

    def storage_systems(self) -> tuple[StorageSystem, ...]:
        self._called()
        systems = {place.storage_system: place for place in self.places}
        return tuple(
            StorageSystem(name=name, backend=place.backend, mount_point=place.mount_point)
            for name, place in systems.items()
        )

    def element_history(self, element: str, seconds: int, points: int) -> History:
        self._called()
        if element not in self.past:
            raise UnavailableError(f"The past of {element} is not known: the monitor does not answer.")
        now = self._clock()
        return History(
            since=now - seconds,
            until=now,
            step_seconds=seconds / points,
            source="memory",
            detail="",
            points=self.past[element],
        )

    def drain(self, element: str, how: dict[str, Any]) -> dict[str, Any]:
        said = {
            "state": "draining", "state_reason": how.get("reason", ""), "state_until": how.get("until", ""),
        }  # fmt: skip
        return self._alter(element, said, f"drain {element}", how)

    def undrain(self, element: str, how: dict[str, Any]) -> dict[str, Any]:
        if self._place(element).state != "draining":
            raise ConflictError(f"{element} is not being drained.", 409)
        said = {"state": "active", "state_reason": "", "state_until": ""}
        return self._alter(element, said, f"undrain {element}", how)

    def set_element(self, element: str, facts: dict[str, Any]) -> dict[str, Any]:
        said = {name: value or "" for name, value in facts.items() if name in _PROPERTIES}
        for name in ("read", "write"):
            if f"{name}_rate" in facts:
                said[f"{name}_mb_s"] = (facts[f"{name}_rate"] or 0) / 1e6
        return self._alter(element, said, f"set {', '.join(sorted(said))} of {element}", facts)

    def add_element(self, facts: dict[str, Any]) -> dict[str, Any]:
        name = f"{facts['system']}/{facts['name']}"
        if any(place.id == name for place in self.places):
            raise ConflictError(f"There is an element {name} already.", 409)
        for needed in ("server", "target"):
            if needed not in facts:
                raise RefusedError(f"An element has a {needed}.", 422)
        made = Element(
            id=name,
            storage_system=facts["system"],
            backend="mergerfs",
            target=facts["target"],
            state="active",
            label=facts["name"],
            server=facts["server"],
        )
        if not facts["dry_run"]:
            self.places.append(made)
        return self._answer(made.id, [("qsm:target", "", made.target)], f"add element {name}", facts)

    def remove_element(self, element: str, how: dict[str, Any]) -> dict[str, Any]:
        place = self._place(element)
        if not how["dry_run"]:
            self.places.remove(place)
        return self._answer(element, [("qsm:target", place.target, "")], f"remove element {element}", how)

    def _place(self, element: str) -> Element:
        place = next((place for place in self.places if place.id == element), None)
        if place is None:
            raise NotFoundError(f"There is no element {element}.")
        return place

    def _alter(self, element: str, said: dict[str, Any], reason: str, how: dict[str, Any]) -> dict[str, Any]:
        place = self._place(element)
        known = {**place, **place.nominal}
        differs = [
            (_PROPERTIES[name], known.get(name, ""), value)
            for name, value in said.items()
            if (known.get(name) or "") != value
        ]
        if not how["dry_run"]:
            self.places[self.places.index(place)] = place.but(
                **{name: value for name, value in said.items() if name not in place.nominal},
                nominal=place.nominal.but(**{key: said[key] for key in said.keys() & place.nominal.keys()}),
            )
        return self._answer(element, differs, reason, how)

    def _answer(
        self, element: str, differs: list[tuple[str, Any, Any]], reason: str, how: dict[str, Any]
    ) -> dict[str, Any]:
        self._called()
        subject = f"https://w3id.org/qstorman/site/{element}"
        number = None
        if differs and not how["dry_run"]:
            number = 1 + max((change.number for change, _state in self.extra_changes), default=100)
            change = Change(
                number=number,
                at=datetime.fromtimestamp(self._clock(), UTC).isoformat(),
                author=self.person,
                reason=reason,
                subjects=1,
                subject=subject,
            )
            before, after = (
                _turtle(subject, [(differ[0], differ[which]) for differ in differs]) for which in (1, 2)
            )
            self.extra_changes.append((change, State(subject=subject, before=before, after=after)))
        properties = [
            {"property": name, "before": _texts(before), "after": _texts(after)}
            for name, before, after in differs
        ]
        effect = {
            "open_placements": 1, "open_in_system": 3, "other_elements": len(self.places) - 1,
            "requirement_sets": 1, "requirement_sets_asked": 1,
            "moved": [{"level": "vo", "name": "materials", "distance": 0.0, "instead": "union/b2",
                       "distance_instead": 0.1}],
        }  # fmt: skip
        return {
            "change": number, "dry_run": how["dry_run"], "total": len(differs) and 1, "element": element,
            "subjects": [
                {"part": "site", "subject": subject, "status": "changed", "properties": properties}
            ] if differs else [],
            "effect": effect if reason.startswith(("drain", "remove")) else None,
        }  # fmt: skip


def _texts(value: object) -> list[str]:
    return [f'"{value}"'] if value not in ("", None) else []


def _turtle(subject: str, values: list[tuple[str, object]]) -> str:
    lines = [f'{name} "{value}"' for name, value in values if value not in ("", None)]
    return (
        f"@prefix qsm: <https://w3id.org/qstorman#> .\n\n<{subject}> a qsm:Element ;\n    "
        + " ;\n    ".join(lines)
        + " ."
    )
