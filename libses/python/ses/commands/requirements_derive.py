"""``ses requirements derive``: from a sentence about a program to requirements."""

from __future__ import annotations

import click

from ses.answers import Requirement, parse
from ses.commands.options import service_command
from ses.commands.store_requirements import save_option, store
from ses.errors import UsageError
from ses.output import console, line, print_json, table
from ses.quantities import written
from ses.service import ServiceClient


@click.command()
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
    for one in values:
        name, equals, value = one.partition("=")
        if not equals:
            raise UsageError(f"{one!r} is not NAME=VALUE, like share=10%.")
        given[name.strip()] = value.strip()
    data = client.expand_workload(" ".join(sentence), given)
    derived = parse(
        "the sentence",
        lambda answer: [
            (Requirement.of(one["requirement"]), str(one["arithmetic"])) for one in answer["derived"]
        ],
        data,
    )
    if as_json:
        print_json(data)
    else:
        out = console()
        line(out, f"{data['workload']}: {data['definition']}")
        rows = [[one["name"], one["value"], one["definition"]] for one in data["parameters"]]
        table(out, ("parameter", "value", "meaning"), rows)
        line(out)
        table(out, ("requirement", "because"), [[written(one), why] for one, why in derived])
    if save is not None:
        store(client, save, [one for one, _ in derived])
