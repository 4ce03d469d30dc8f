"""A requirement set as the statements the store keeps of it."""

from rdflib import RDF, RDFS, SKOS, XSD, Graph, Literal, URIRef

from ses_service.knowledge.queries import Statement
from ses_service.knowledge.statements.edits import Edit
from ses_service.knowledge.statements.statements import describe
from ses_service.knowledge.terms import ODRL, QSM, REQUIREMENTS_GRAPH, STRICTNESS, requirement_set_iri
from ses_service.knowledge.times import written
from ses_service.knowledge.vocabulary import vocabulary
from ses_service.model.entities import Level, MeasuredRun, Requirement, RequirementSet


def set_statements(requirement_set: RequirementSet, change: str) -> list[Statement]:
    """Return all the store keeps of a set with this revision, author and time; ``change`` is the identity."""
    target = requirement_set_iri(requirement_set.level, requirement_set.name)
    statements: list[Statement] = [
        (target, RDF.type, QSM.RequirementSet),
        (target, QSM.level, Literal(requirement_set.level.value)),
        (target, QSM.subject, Literal(requirement_set.name)),
        (target, QSM.revision, Literal(requirement_set.revision)),
        (target, QSM.change, Literal(change)),
    ]
    if requirement_set.modified_at is not None:
        statements.append((target, QSM.modifiedAt, Literal(requirement_set.modified_at, datatype=XSD.double)))
    if requirement_set.modified_by is not None:
        statements.append((target, QSM.modifiedBy, Literal(requirement_set.modified_by)))
    if requirement_set.profile is not None:
        statements.append((target, QSM.profile, URIRef(requirement_set.profile.iri)))
    if requirement_set.level is Level.PROFILE and requirement_set.requirements:
        statements += [
            (target, RDF.type, QSM.Profile),
            (target, QSM.name, Literal(requirement_set.name)),
            (target, RDFS.label, Literal(requirement_set.name)),
            (target, SKOS.definition, Literal(requirement_set.definition)),
        ]
        statements += [] if requirement_set.measured is None else _measured(target, requirement_set.measured)
    for requirement in requirement_set.requirements:
        statements += _requirement(target, requirement)
    return statements


def _measured(target: URIRef, run: MeasuredRun) -> list[Statement]:
    return [
        (target, QSM.bytesRead, Literal(run.read_bytes, datatype=XSD.double)),
        (target, QSM.bytesWritten, Literal(run.written_bytes, datatype=XSD.double)),
        (target, QSM.runTime, Literal(run.seconds, datatype=XSD.double)),
        (target, QSM.processorTime, Literal(run.processor_seconds, datatype=XSD.double)),
        (target, QSM.cores, Literal(run.cores)),
    ]


def set_edit(requirement_set: RequirementSet, change: str, before: Graph) -> Edit:
    """Return the edit that puts a set in place of ``before``, all the store says about it now."""
    target = requirement_set_iri(requirement_set.level, requirement_set.name)
    statements, after = set_statements(requirement_set, change), Graph()
    for statement in statements:
        after.add(statement)
    gone = tuple(sorted({node for node in before.subjects() if isinstance(node, URIRef)}))
    return Edit(
        REQUIREMENTS_GRAPH,
        target,
        describe(before).get(target, {}),
        describe(after).get(target, {}),
        gone,
        tuple(statements),
    )


def _requirement(target: URIRef, requirement: Requirement) -> list[Statement]:
    kind = requirement.kind
    metric, node = vocabulary().metric(kind), URIRef(f"{target}/{kind.value}")
    unit = metric.units.get(requirement.unit, metric.base)
    bound = requirement.bound / vocabulary().unit_sizes[str(unit)]
    statements: list[Statement] = [
        (target, QSM.requires, node),
        (node, RDF.type, QSM.Requirement),
        (node, ODRL.leftOperand, metric.iri),
        (node, ODRL.operator, ODRL.lteq if kind.at_most else ODRL.gteq),
        (node, ODRL.rightOperand, Literal(bound, datatype=XSD.double)),
        (node, ODRL.unit, unit),
        (node, QSM.weight, Literal(requirement.weight, datatype=XSD.double)),
        (node, QSM.strictness, STRICTNESS[requirement.strictness]),
    ]
    window = ((QSM.validFrom, requirement.valid_from), (QSM.validUntil, requirement.valid_until))
    for property_, moment in window:
        if moment is not None:
            text = Literal(written(moment), datatype=XSD.dateTime, normalize=False)
            statements.append((node, property_, text))
    return statements
