"""``ses requirements derive``: from a sentence about a program to requirements."""

from __future__ import annotations

import click
from ses_client.client import ServiceClient
from ses_client.errors import UsageError

from ses.commands.examples import examples
from ses.commands.options import service_command
from ses.commands.requirements.storing import save_option, store
from ses.output import console, line, print_json, table
from ses.quantities import written


@click.command(epilog=examples("ses requirements derive checkpoint of 4 TB every 30 min by 512 ranks"))
@click.argument("sentence", nargs=-1, required=True)
@click.option(
    "--set", "values", multiple=True, metavar="NAME=VALUE", help="A parameter the sentence does not have."
)
@save_option
@service_command
def derive(
    client: ServiceClient,
    as_json: bool,
    sentence: tuple[str, ...],
    values: tuple[str, ...],
    save: tuple[str, str] | None,
) -> None:
    """Work out what SENTENCE requires, with the arithmetic: 'checkpoint of 4 TB every 30 min by 512 ranks'.

    The sentences and their rules are data of the vocabulary (ontology/workloads.ttl, SES_VOCABULARY); another
    sentence is answered with those there are.  Nothing is stored without --save.
    """
    given = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} is not NAME=VALUE, like share=10%.")
        given[name.strip()] = value.strip()
    expanded = client.expand(" ".join(sentence), given)
    if as_json:
        print_json(expanded)
    else:
        out = console()
        line(out, f"{expanded.workload}: {expanded.definition}")
        rows = [[parameter.name, parameter.value, parameter.definition] for parameter in expanded.parameters]
        table(out, ("parameter", "value", "meaning"), rows)
        line(out)
        rows = [[written(derived.requirement), derived.arithmetic] for derived in expanded.derived]
        table(out, ("requirement", "because"), rows)
    if save is not None:
        store(client, save, [derived.requirement for derived in expanded.derived])
