"""What an agent is asked that attacks a spec: the spec as data, its neighbours, and what the lint found."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ralph.core.prompt.facts import render
from ralph.core.specs.lint import check_specs
from ralph.core.specs.parse import parse_spec
from ralph.core.text.clean import one_line
from ralph.core.text.quoting import fence_text

MAX_NAMES = 50
MAX_SENTENCE = 300


class SpecQuestion(Struct, frozen=True, kw_only=True):
    spec: str
    nonce: str
    others: tuple[str, ...]
    findings: tuple[str, ...]
    trouble: str  # why an earlier answer could not be used
    asked: str  # the user's own words to the reviewer


def spec_question(
    template: str, texts: Mapping[str, str], path: str, nonce: str, *, asked: str = "", trouble: str = ""
) -> str:
    findings = check_specs(tuple(parse_spec(name, text) for name, text in texts.items()))
    found = [
        f"line {one.line}: {one_line(one.message, MAX_SENTENCE)}" for one in findings if one.path == path
    ]
    facts = SpecQuestion(
        spec=fence_text(path, texts[path], nonce),
        nonce=nonce,
        others=tuple(one_line(name, 200) for name in texts if name != path)[:MAX_NAMES],
        findings=tuple(found[:MAX_NAMES]),
        trouble=one_line(trouble, MAX_SENTENCE),
        asked=asked,
    )
    return render(template, facts)
