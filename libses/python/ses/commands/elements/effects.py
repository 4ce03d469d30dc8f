"""What a change of an element did, or would do, as people read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.console import Console
from ses_client.errors import UsageError
from ses_client.messages.message import JSON

from ses.commands.kb.changes import show_subjects
from ses.output import console, line, print_json, table

_LEVELS = {"site": "the site", "vo": "VO", "user": "user", "application": "application"}


def element_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument ELEMENT, checked for its form."""
    return click.argument("element", metavar="SYSTEM/ELEMENT", callback=_element)(command)


def _element(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    return element_id(text)


def element_id(text: str) -> str:
    """Return the name of an element as typed; raises UsageError when it does not have the form of one."""
    system, slash, name = text.partition("/")
    if not system or not slash or not name or "/" in name:
        raise UsageError(
            f"{text!r} is not an element. Write its storage system and its name, as in scratch/b3; "
            "ses elements lists them."
        )
    return text


def show(answer: JSON, done: str, as_json: bool) -> None:
    """Print a change that was made, or would be; ``done`` is the sentence that says what is so now."""
    if as_json:
        print_json(answer)
        return
    out = console()
    show_subjects(out, answer["subjects"], answer["total"])
    if answer["total"] and answer["effect"]:
        _show_effect(out, answer["element"], answer["effect"])
    if not answer["total"]:
        line(out, "Nothing changes: all is so already.")
    elif answer["dry_run"]:
        line(out, "Nothing was changed.")
    else:
        line(out, f"{done} This is change {answer['change']}; ses kb undo {answer['change']} takes it back.")


def _show_effect(out: Console, element: str, effect: JSON) -> None:
    system = element.partition("/")[0]
    here, there = effect["open_placements"], effect["open_in_system"]
    line(out, f"Open files: {here} of {there} in {system} are on {element}; they stay there.")
    if not effect["other_elements"]:
        line(out, f"No other element of {system} takes files now: the file system chooses for each file.")
    moved, asked = effect["moved"], effect["requirement_sets_asked"]
    more = f" (of {effect['requirement_sets']} that are stated)" if effect["requirement_sets"] > asked else ""
    line(out, f"Requirement sets: {len(moved)} of {asked}{more} would have their next file there.")
    if moved:
        headers = ("who", "goes to", ">distance now", ">then")
        table(out, headers, [_row(effect) for effect in moved])


def _row(effect: JSON) -> list[str]:
    who = _LEVELS.get(str(effect["level"]), str(effect["level"]))
    then = effect["distance_instead"]
    return [
        who if effect["level"] == "site" else f"{who} {effect['name']}",
        effect["instead"] or "nowhere: no other element meets it",
        f"{effect['distance']:.2f}",
        "-" if then is None else f"{then:.2f}",
    ]
