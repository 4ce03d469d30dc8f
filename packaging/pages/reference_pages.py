"""The pages of what can be set and measured: environment variables, settings of the monitor, metrics."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le
from command_pages import marked, wrapped
from metrics import metrics_of
from programs import ROOT
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from ses_service.model.policies import Setting, settings
from smed_monitor.config.settings import (
    ElementSettings,
    HistorySettings,
    QuotaSettings,
    Rule,
    Settings,
    Target,
)
from variables import every_variable

_METRICS = (
    ("ses-service", "The selection service", "ses-service/ses_service"),
    ("smed-monitor", "The monitor", "smed-monitor/smed_monitor"),
    ("ses-webface", "The portal", "webface/ses_webface"),
)
_TABLES: tuple[tuple[str, type[BaseModel]], ...] = (
    ("", Settings),
    ("[[target]]", Target),
    ("[[element]]", ElementSettings),
    ("[[rule]]", Rule),
    ("[[quota]]", QuotaSettings),
    ("[history]", HistorySettings),
)
_READERS = {
    "library": "programs under the library",
    "ses.api": "`ses.api` in Python",
    "ses.offload": "`ses.offload` in Python",
    "ses.share": "`ses.share` in Python",
}


def reference_pages() -> dict[str, str]:
    """Return the pages by their names below ``docs``."""
    return {
        "reference/decision-settings.md": _made("ses_service.model.policies") + _policies(),
        "reference/environment.md": _made("packaging/pages/variables.toml") + _environment(),
        "reference/metrics.md": _made("the sources of each part") + _metrics(),
        "reference/monitor-settings.md": _made("smed_monitor.config.settings") + _settings(),
    }


def _made(source: str) -> str:
    return f"<!-- Made by `make pages` from {source}: change it there. -->\n\n"


def _environment() -> str:
    rows = [
        (
            f"`{entry.name}`",
            ", ".join(_READERS.get(reader, f"`{reader}`") for reader in entry.read_by),
            marked(entry.default),
            marked(entry.meaning),
        )
        for entry in every_variable()
    ]
    return (
        "# Environment variables\n\n"
        "Programs that run with more rights than who started them (setuid) ignore all that the library\n"
        "reads. An option on the command line has precedence.\n\n"
        + _table(("variable", "read by", "default", "meaning"), rows)
    )


def _metrics() -> str:
    text = "# Metrics\n\n" + wrapped(
        "Each service answers `/metrics` in the Prometheus format. No label holds a user, a path or a token. "
        "Histograms have `_bucket`, `_sum` and `_count`, summaries `_sum` and `_count`."
    )
    for program, title, folder in _METRICS:
        rows = [
            (
                f"`{entry.name}`",
                entry.kind,
                ", ".join(f"`{label}`" for label in entry.labels),
                marked(entry.help),
            )
            for entry in metrics_of(ROOT / folder)
        ]
        text += (
            f"\n\n## {title} (`{program}`)\n\n"
            + _table(("metric", "kind", "labels", "meaning"), rows).rstrip()
        )
    return text + "\n"


def _policies() -> str:
    text = "# Settings of the decision\n\n" + wrapped(
        "Weights and limits of the decision, for services with other needs than most: the file (TOML) that "
        "`ses-service serve --policies` names. What it does not name keeps its default. The file is read "
        "once, at the start; a service does not start with a setting that does not exist or is out of range. "
        "The service sends them to its nodes. `ses doctor` shows what differs from the defaults. "
        "[The rule](../decision.md) says where each number is used."
    )
    rows = [
        (f"`{setting.name}`", _policy_type(setting), _default_text(setting.default), marked(setting.says))
        for setting in settings()
    ]
    return text + "\n\n" + _table(("setting", "value", "default", "meaning"), rows)


def _policy_type(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return "true or false"
    if isinstance(setting.default, frozenset):
        return "list of texts"
    return f"{'whole number' if isinstance(setting.default, int) else 'number'} {setting.range}"


def _default_text(value: Any) -> str:
    if isinstance(value, frozenset):
        return f"`{sorted(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else f'{value:.10g}'}`"


def _settings() -> str:
    text = "# Settings of the monitor\n\n" + wrapped(
        "The file (TOML) that `smed-monitor serve --config` names. A fault is shown "
        "with the file and the key. The file is read once, at the start. "
        "[`smed-monitor/smed.example.toml`](../../smed-monitor/smed.example.toml) shows the settings in use."
    )
    for table, model in _TABLES:
        says = inspect.cleandoc(model.__doc__ or "").replace("``", "`")
        text += f"\n\n## {f'`{table}`' if table else 'The whole file'}\n\n"
        text += "\n\n".join(wrapped(" ".join(part.split())) for part in says.split("\n\n")) + "\n\n"
        rows = [
            (f"`{field.alias or name}`", _type(field), _default(field), _meaning(field))
            for name, field in model.model_fields.items()
            if not _is_table(field)
        ]
        text += _table(("setting", "value", "default", "meaning"), rows).rstrip()
    return text + "\n"


def _meaning(field: FieldInfo) -> str:
    return marked(" ".join((field.description or "").split()).replace("``", "`"))


def _is_table(field: FieldInfo) -> bool:
    """Whether it is described as a table of its own."""
    parts = [field.annotation, *get_args(field.annotation)]
    return any(isinstance(part, type) and issubclass(part, BaseModel) for part in parts)


def _type(field: FieldInfo) -> str:
    name = _word(field.annotation)
    bounds = [each for each in field.metadata if isinstance(each, Ge | Gt | Le)]
    least = next((f"from {bound.ge:g}" for bound in bounds if isinstance(bound, Ge)), "")
    least = next((f"above {bound.gt:g}" for bound in bounds if isinstance(bound, Gt)), least)
    most = next((f"to {bound.le:g}" for bound in bounds if isinstance(bound, Le)), "")
    return " ".join(word for word in (name, least, most) if word)


def _word(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _word(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return _word(next(arg for arg in get_args(annotation) if arg is not NoneType))
    if origin is tuple:
        return "list of texts"
    return {"str": "text", "float": "number", "int": "whole number", "bool": "true or false"}[
        annotation.__name__
    ]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"
