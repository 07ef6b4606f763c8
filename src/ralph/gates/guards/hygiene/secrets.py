"""Guard "secrets": no key, token or password in added lines. Hygiene: not yet. It never shows one."""

from __future__ import annotations

import math
import re
from collections import Counter

from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.text.clean import find_keys
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import NumberedLine, is_aside, is_testing, new_lines
from ralph.gates.guards._files.manifests import is_lock

NAME = "secrets"
KINDS = guard_kinds(NAME, "remove it and read it from the environment", {
    "key": ("not yet", "an added line holds what looks like a key or token"),
    "private": ("not yet", "a private key was added"),
    "password": ("not yet", "an added line holds what looks like a real password"),
})  # fmt: skip
_PRIVATE = re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----")
_ELIDED = re.compile(r"\W*(?:\.\.\.|\u2026|<|\Z)")  # in place of what a real key holds
_PASSWORD = re.compile(
    r"(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|credential)s?[\"']?\s*(?::=|=>|[:=])"
    r"\s*[\"']([^\"'\s]{12,200})[\"']"
)
_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{2,20}://[^\s:/@\"'{}$<>]{1,60}:([^\s/@\"'{}$<>]{8,100})@([\w.-]+)")
_PLACEHOLDER = re.compile(
    r"(?i)example|changeme|change[_-]me|dummy|fake|sample|placeholder|your|xxxx|0{6}|1234|abcd|test|secret|passw|<|\$\{|\{\{|%\(|"
    r"redacted|\*\*\*|\.\.\.|deadbeef|foobar|insecure|localhost|not[_-]?a|invalid|mock|lorem"
)
_SURE_ENTROPY = 3.6


def check(facts: GuardFacts) -> GuardResult:
    found: dict[str, Finding] = {}
    for path, lines in new_lines(facts).items():
        if is_testing(path) or is_aside(path) or is_lock(path):
            continue
        for line, below in zip(lines, [*lines[1:], None], strict=True):
            kind, what = _look(line)
            if kind and not (kind == "private" and below and _ELIDED.match(below.text)):
                key = f"secrets.{kind}:{path}"
                text = f"line {line.number} of {path} looks like {what}; keep it out of the repository"
                found.setdefault(key, Finding(key, text, path=path, line=line.number))
    return guard_result(
        NAME, facts, found.values(), good="no secret in added lines", bad="possible secrets in added lines"
    )


def _look(line: NumberedLine) -> tuple[str, str]:
    text = line.text
    if _PRIVATE.search(text) and not re.search(r"[\"'(]-----BEGIN [A-Z ]+-----[\"')]", text):
        return "private", "a private key"
    if any(
        not _PLACEHOLDER.search(key) and _is_mixed(key) and _entropy(key) > 3.0 for key in find_keys(text)
    ):
        return "key", "a key or token"
    for match in _PASSWORD.finditer(text):
        if _is_password(match.group(1)):
            return "password", "a real password or key"
    for match in _IN_URL.finditer(text):
        host = match.group(2)
        local = (
            host in ("localhost", "db", "host", "hostname", "redis", "postgres")
            or "." not in host
            or "example" in host
        )
        if not local and _is_password(match.group(1)):
            return "password", "a password in an address"
    return "", ""


def _is_password(value: str) -> bool:
    """Random enough to be real: no word, no path, no reference to somewhere else."""
    if _PLACEHOLDER.search(value) or re.search(
        r"[(){}<>]|^\$\w+\Z|::|/\w+/|^[a-z_.-]+\Z|^[A-Z_]+\Z|\.(?:py|js|json|com|org|io)\b", value
    ):
        return False
    return _is_mixed(value) and _entropy(value) >= _SURE_ENTROPY


def _is_mixed(value: str) -> bool:
    return bool(re.search(r"\d", value)) and bool(re.search(r"[A-Za-z]", value))


def _entropy(text: str) -> float:
    counts = Counter(text)
    return -sum(number / len(text) * math.log2(number / len(text)) for number in counts.values())
