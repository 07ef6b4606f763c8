"""What a repository asks for that needs the user's word: in readable form, and as one hash.

The hash covers the meaning of exactly those items and nothing else: comments, order and other keys may
change, one letter of a command may not. It does not cover the path of the repository, so that a moved
or second clone stays approved; nor the files a command starts, which live in the box like all judged
code. Who approved what is kept in `ralph.shell.config.approvals`.
"""

from __future__ import annotations

import msgspec

from ralph.shell.config.schema import BY_KEY, escape_invisible, format_value, option_of, quote_text
from ralph.shell.config.settings import Approval, AskedItem, SettingEntry, Value

_VERSION = "ralph approval 1"


def approval_of(project: dict[str, SettingEntry], repo: str) -> Approval | None:
    """None when the repository asks for nothing. It never depends on the user's own files or flags."""
    asked: dict[str, dict[str, Value]] = {}
    wheres: dict[str, str] = {}
    for key, entry in project.items():
        if option_of(key).project not in ("approve", "waive"):
            continue
        table, _, rest = key.partition(".")
        name, _, field = rest.partition(".")
        item = f"{table}.{name}" if f"{table}.*.{field}" in BY_KEY else key
        asked.setdefault(item, {})[field if item != key else ""] = entry.value
        wheres.setdefault(item, entry.origin.where)
    if not asked:
        return None
    from hashlib import sha256

    digest = sha256(msgspec.json.encode([_VERSION, asked], order="deterministic")).hexdigest()
    items = tuple(
        AskedItem(key, _words(key, fields), wheres[key], waiver=key.startswith("guards."))
        for key, fields in asked.items()
    )
    return Approval(digest, escape_invisible(repo), items)


_VERBS = {
    "agent": "chooses the agent",
    "profile": "chooses the profile",
    "share": "shares these folders with the workspace:",
    "setup": "setup runs",
    "report.copy_to": "copies reports into",
    "activity.log": "writes a line for each start, end, approval and merge to",
    "notify.webhook": "sends what becomes of loops to",
    "notify.apprise": "sends what becomes of loops to",
    "judge.agent": "chooses the judge's agent",
    "judge.profile": "chooses the judge's profile",
    "judge.dimensions": "has results judged by these dimensions:",
    "guards.allow": "waives these guards:",
    "guards.quarantine": "puts these tests in quarantine:",
}


def _words(key: str, fields: dict[str, Value]) -> str:
    """The whole of an item on one line, nothing cut and nothing invisible."""
    if "" in fields:
        value = format_value(BY_KEY[key], fields[""])
        return f"{_VERBS.get(key, f'sets {key} to')} {value}"
    table, _, name = key.partition(".")
    main = {"gates": "run", "agents": "command"}.get(table, "")
    words = f'{table.removesuffix("s")} "{name}"'
    if fields.get(main):
        words += f" runs {escape_invisible(str(fields[main]))}"
    rest = [_field(table, field, value) for field, value in sorted(fields.items()) if field != main]
    return words + (f" with {', '.join(rest)}" if rest else "")


def _field(table: str, field: str, value: Value) -> str:
    shown = format_value(BY_KEY[f"{table}.*.{field}"], value)
    return f"{field} = {quote_text(value) if isinstance(value, str) else shown}"
