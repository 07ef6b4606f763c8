"""A prompt template of a project, tried before any agent is called: its names first, then with facts.

The names are found without executing anything; the trials render it with everything there and with almost
nothing there, so that a place which only some iterations reach is reached now. It is refused with file and
line. What it must not leave out is no matter here: that is added to whatever
it renders (`facts.add_required_parts`).
"""

from __future__ import annotations

from msgspec.structs import fields

from ralph.core.model.parts import flat_fields, flat_names, flat_type, from_flat
from ralph.core.prompt.facts import CheckLine, PlanFacts, PromptFacts, render, template_error
from ralph.core.prompt.standing_rules import FORM, Kind, answer_of, rule_of


def check_names(text: str, place: str) -> None:
    """Refuse bad syntax, names that nobody gives, and reaching for other templates."""
    from jinja2 import TemplateSyntaxError, meta, nodes
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment()
    try:
        tree = environment.parse(text)
        environment.compile(tree)
    except TemplateSyntaxError as wrong:
        raise template_error(str(wrong.message), wrong.lineno, place) from wrong
    for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
        raise template_error("a template cannot use include, import or extends", node.lineno, place)
    known = set(flat_names(PromptFacts)) | set(environment.globals)
    unknown = meta.find_undeclared_variables(tree) - known
    for name in tree.find_all(nodes.Name):
        if name.name in unknown:
            raise template_error(f"'{name.name}' is not a name a template can use", name.lineno, place)


def check_renders(kind: Kind, text: str, place: str) -> None:
    """Refuse what fails on facts as they may come."""
    for facts in samples(kind):
        render(text, facts, place)


def samples(kind: Kind) -> tuple[PromptFacts, PromptFacts]:
    """Almost nothing, as in a first iteration; and everything at once."""
    rule = PlanFacts(rule=rule_of(kind, "item"))
    bare = PromptFacts(
        task="task", task_class="custom", iteration=1, status_instructions=answer_of(kind), plan=rule
    )
    known = fields(flat_type(PromptFacts))
    words = {field.name: f"some {field.name}" for field in known if field.type is str}
    lists = {field.name: ("one", "two") for field in known if field.type == tuple[str, ...]}
    checks = tuple(
        CheckLine("test", "npm test", ".", role, "red: 1") for role in ("proof", "keep-green", "advice")
    )
    whole = {**flat_fields(bare), **words, **lists, "checks": checks}
    whole |= {"iteration": 2, "limit": 15, "first": False, "plan_form": FORM}
    whole |= {"status_instructions": answer_of(kind), "rule": rule_of(kind, "item")}
    return bare, from_flat(PromptFacts, whole)
