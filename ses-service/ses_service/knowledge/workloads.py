"""From a sentence about a program to requirements: the workloads of the vocabulary.  Pure.

A workload is a phrase with parameters, and for each kind of requirement a formula over them.  All of it is
data (``ontology/workloads.ttl`` and files of a site's own); values are in the units quantities are computed
in.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ses_service.model.kinds import Kind
from ses_service.model.limits import MAX_BOUND

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class WorkloadError(ValueError):
    """A sentence or a value that does not fit, or a formula that cannot be computed; says what would.

    ``parameter`` is the one whose value does not fit, if that is it.
    """

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class Parameter:
    """One quantity; ``units`` are its units' sizes by symbol, None for a plain number.

    Without a ``standard`` value it must be given.
    """

    name: str
    definition: str
    units: Mapping[str, float] | None
    standard: float | None

    def value(self, text: str) -> float:
        """Return the value of ``4 TB`` or ``512``.  Raises WorkloadError."""
        matched = re.fullmatch(rf"\s*({_NUMBER})\s*(\S*)\s*", text)
        if matched is None:
            raise WorkloadError(
                f"{text!r} is no quantity for {self.name}: write a number and its unit", self.name
            )
        number, unit = float(matched[1]), matched[2]
        if self.units is None:
            if unit not in ("", "%"):
                raise WorkloadError(f"{self.name} is a plain number; it has the unit {unit!r}", self.name)
            return number / 100 if unit else number
        if unit not in self.units:
            raise WorkloadError(f"{text!r}: {self.name} takes one of {', '.join(self.units)}", self.name)
        return number * self.units[unit]


@dataclass(frozen=True, slots=True)
class Workload:
    """A phrase, its parameters by name, and the formula of each kind it derives."""

    name: str
    phrase: str
    definition: str
    example: str
    parameters: Mapping[str, Parameter]
    rules: Mapping[Kind, str]

    def fits(self, sentence: str) -> dict[str, str] | None:
        """Return the texts of the parameters in a sentence; None when it is not of this phrase."""
        pattern, end = "", 0
        for place in _PLACE.finditer(self.phrase):
            pattern += (
                _words(self.phrase[end : place.start()]) + rf"(?P<{place[1]}>{_NUMBER}(?:\s*[^\s\d]\S*)?)"
            )
            end = place.end()
        matched = re.fullmatch(pattern + _words(self.phrase[end:]), sentence.strip(), re.IGNORECASE)
        return None if matched is None else matched.groupdict()


@dataclass(frozen=True, slots=True)
class Derived:
    """The bound of a kind in its base unit, with its formula and the same with values in it."""

    kind: Kind
    bound: float
    formula: str
    arithmetic: str


@dataclass(frozen=True, slots=True)
class Expansion:
    """A sentence understood: the texts of all parameters, standard values included, and what follows."""

    workload: Workload
    values: Mapping[str, str]
    derived: tuple[Derived, ...]


def expand(workloads: Iterable[Workload], sentence: str, given: Mapping[str, str]) -> Expansion:
    """Return what a sentence requires; ``given`` are texts of parameters by name, before those it has.

    Raises WorkloadError.
    """
    known = sorted(workloads, key=lambda workload: workload.name)
    for workload in known:
        stated = workload.fits(sentence)
        if stated is not None:
            return _expanded(workload, {**stated, **given})
    examples = "; ".join(workload.example for workload in known)
    raise WorkloadError(f"no workload has a phrase like {sentence!r}. Say it like one of: {examples}")


def _expanded(workload: Workload, stated: Mapping[str, str]) -> Expansion:
    unknown = sorted(stated.keys() - workload.parameters.keys())
    if unknown:
        raise WorkloadError(
            f"{workload.name} has no parameter {unknown[0]}; it has {', '.join(workload.parameters)}",
            unknown[0],
        )
    values, texts = {}, {}
    for name, parameter in workload.parameters.items():
        if name in stated:
            values[name], texts[name] = parameter.value(stated[name]), " ".join(stated[name].split())
        elif parameter.standard is not None:
            values[name], texts[name] = parameter.standard, f"{parameter.standard:g}"
        else:
            raise WorkloadError(f"{workload.name} needs {name}: {parameter.definition}")
    derived = tuple(
        Derived(kind, _computed(workload, formula, values), formula, _with_values(formula, texts))
        for kind, formula in workload.rules.items()
    )
    return Expansion(workload, texts, derived)


def _words(text: str) -> str:
    """Return the pattern of a piece of a phrase: any blanks between its words."""
    return re.sub(r"(\\\s)+|\s+", r"\\s+", re.escape(text))


def _with_values(formula: str, texts: Mapping[str, str]) -> str:
    return re.sub(r"[a-z][a-z0-9_]*", lambda name: texts.get(name[0], name[0]), formula)


def _computed(workload: Workload, formula: str, values: Mapping[str, float]) -> float:
    try:
        result = _value(ast.parse(formula, mode="eval").body, values)
    except (SyntaxError, KeyError, TypeError, RecursionError) as error:
        raise WorkloadError(f"the formula {formula!r} of {workload.name} is wrong: {error}") from None
    except ArithmeticError:
        raise WorkloadError(f"{_with_values(formula, {})} cannot be computed: a divisor is 0") from None
    if not 0 <= result <= MAX_BOUND:
        raise WorkloadError(f"{formula} is {result:g}, which nothing can require")
    return result


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left, values), _value(node.right, values))
    raise TypeError("only parameters, numbers, + - * / and brackets")
