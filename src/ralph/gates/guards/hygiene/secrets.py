"""Guard "secrets": no key, token or password in added lines. Hygiene: not yet. It never shows one."""

from __future__ import annotations

import math
import re
from collections import Counter

from ralph.core.model.verdict import Finding, GuardResult
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
_KEYS = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{50,}\b",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}\b",
    "a Slack token": r"\bxox[abprs]-[A-Za-z0-9-]{20,}\b",
    "a Stripe key": r"\b[sr]k_live_[A-Za-z0-9]{20,}\b",
    "a Google API key": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "an Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{30,}",
    "an OpenAI key": r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{40,}",
    "an npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "a PyPI token": r"\bpypi-AgE[A-Za-z0-9_-]{50,}",
    "a SendGrid key": r"\bSG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
    "a Telegram bot token": r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "an Azure storage key": r"AccountKey=[A-Za-z0-9+/]{80,}={0,2}",
}
_KEY = re.compile("|".join(f"(?P<k{at}>{pattern})" for at, pattern in enumerate(_KEYS.values())))
_NAMES = tuple(_KEYS)
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
_HINT = re.compile(
    r"AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|k_live_|AIza|sk-|npm_|pypi-AgE|SG\.|:AA|AccountKey"
    r"|PRIVATE KEY|://|(?i:passw|pwd|secret|token|key|credential)"
)
_SURE_ENTROPY = 3.6


def check(facts: GuardFacts) -> GuardResult:
    found: dict[str, Finding] = {}
    for path, lines in new_lines(facts).items():
        if is_testing(path) or is_aside(path) or is_lock(path):
            continue
        for line, below in zip(lines, [*lines[1:], None], strict=True):
            if not _HINT.search(line.text):
                continue
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
    for match in _KEY.finditer(text):
        if not _PLACEHOLDER.search(match.group()) and _entropy(match.group()) > 3.0:
            at = int((match.lastgroup or "k0")[1:])
            return "key", _NAMES[at]
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
    mixed = bool(re.search(r"\d", value)) and bool(re.search(r"[A-Za-z]", value))
    return mixed and _entropy(value) >= _SURE_ENTROPY


def _entropy(text: str) -> float:
    counts = Counter(text)
    return -sum(number / len(text) * math.log2(number / len(text)) for number in counts.values())
