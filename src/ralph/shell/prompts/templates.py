"""Prompt templates that a project brings: `.ralph/templates/NAME.md.j2` of the base commit.

They tell an agent what to do, so they count as something a repository asks for: shown and approved once, by
hash. Checked when a loop starts, then sealed into its order by the ids of their git blobs. What they may say
is in `core.prompt.check_template`, what they cannot leave out in `core.prompt.facts`.
"""

from __future__ import annotations

import hashlib

import msgspec

from ralph.core.prompt.check_template import check_names, check_renders
from ralph.core.prompt.facts import template_error
from ralph.core.prompt.standing_rules import KINDS, Kind
from ralph.shell.config import Approval, AskedItem, approvals
from ralph.shell.git.project import Project, user_call

FOLDER = ".ralph/templates"
MAX_BYTES = 200_000
_VERSION = "ralph templates 1"


class Own(msgspec.Struct, frozen=True):
    oid: str
    text: str


def own_templates(project: Project, base: str, user_dir: str, now: float) -> dict[str, str]:
    """Name -> git blob of each template in the base commit; refused unless sound and approved."""
    found = read_templates(project, base)
    if not found:
        return {}
    for kind, own in found.items():
        check_names(own.text, template_path(kind))
    approval = approval_of(found, project.top)
    if not approvals.is_approved(user_dir, approval.hash):
        raise approvals.needs_approval_error(user_dir, approval, now)
    for kind, own in found.items():
        check_renders(kind, own.text, template_path(kind))
    return {kind: own.oid for kind, own in found.items()}


def template_path(kind: Kind) -> str:
    return f"{FOLDER}/{kind}.md.j2"


def read_templates(project: Project, base: str) -> dict[Kind, Own]:
    args = ["ls-tree", "-z", "--full-tree", base, "--", *(template_path(kind) for kind in KINDS)]
    listed = user_call(project, args).out.split(b"\0")[:-1]
    oids = {}
    for line in listed:
        meta, _, path = line.partition(b"\t")
        mode, _, rest = meta.decode().partition(" ")
        if mode in ("100644", "100755"):
            oids[path.decode("utf-8", "replace")] = rest.split(" ")[1]
    return {
        kind: _read(project, kind, oids[template_path(kind)]) for kind in KINDS if template_path(kind) in oids
    }


def _read(project: Project, kind: Kind, oid: str) -> Own:
    data = user_call(project, ["cat-file", "blob", oid]).out
    if len(data) > MAX_BYTES:
        raise template_error(
            f"it has {len(data)} bytes, at most {MAX_BYTES} are read", 1, template_path(kind)
        )
    try:
        return Own(oid, data.decode("utf-8-sig"))
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise template_error("it is not valid UTF-8", line, template_path(kind)) from wrong


def approval_of(found: dict[Kind, Own], repo: str) -> Approval:
    """One hash for all of them: another letter in one asks again."""
    texts = {kind: own.text for kind, own in found.items()}
    digest = hashlib.sha256(msgspec.json.encode([_VERSION, texts], order="deterministic")).hexdigest()
    items = tuple(
        AskedItem(
            key=f"templates.{kind}",
            words=f'replaces the built-in prompt with its own template "{kind}" '
            f"({own.text.count(chr(10))} lines, blob {own.oid[:12]})",
            where=template_path(kind),
        )
        for kind, own in found.items()
    )
    return Approval(digest, repo, items)
