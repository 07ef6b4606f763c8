"""What prompts are made from besides the loop: files of the base commit, sealed specs, what was changed.

Everything that could give orders (PROMPT.md, AGENTS.md or CLAUDE.md, specs, templates) is read from what was
sealed at the start, never from the workspace: an agent must not be able to rewrite what the next one is told.
Read bounded, once a stint; only the changes are looked at for each call. What is chosen is in
`core.prompt.context`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib.resources import files

from ralph.core.model.loop import Loop
from ralph.core.prompt.context import FileChange, Sources, SpecText, parse_specs
from ralph.core.prompt.standing_rules import Kind
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import SYMLINK, read_blob, tree_entries
from ralph.shell.state import blobs

PROJECT = "PROMPT.md"
GUIDES = ("AGENTS.md", "CLAUDE.md")  # the first that is there
MAX_BYTES = 1 << 20
MAX_CHANGES_BYTES = 8 << 20  # bytes of git's answer
_INCLUDE = re.compile(r'{% include "(_\w+\.md\.j2)" %}\n')


class PromptFiles:
    """For the prompts of one loop in one stint."""

    def __init__(self, store: Store, blob_dir: str) -> None:
        self._store = store
        self._blobs = blob_dir
        self._files: dict[str, str] | None = None
        self._specs: dict[str, SpecText] | None = None
        self._templates: dict[str, str] = {}
        self._newest: tuple[str, str, tuple[FileChange, ...]] = ("", "", ())

    def sources(
        self, loop: Loop, *, notes: Sequence[tuple[str, str]] = (), area: Sequence[str] = ()
    ) -> Sources:
        if self._files is None:
            self._files = base_files(self._store, loop.sealed.base.tree)
        if self._specs is None:
            texts = loop.sealed.plan_brief.texts
            self._specs = parse_specs({path: self._blob(digest) for path, digest in texts.items()})
        guide = next((name for name in GUIDES if name in self._files), "")
        return Sources(
            project=self._files.get(PROJECT, ""),
            guide=self._files.get(guide, ""),
            guide_name=guide,
            specs=self._specs,
            changes=self._changes(loop),
            notes=tuple(notes),
            area=tuple(area),
        )

    def template(self, loop: Loop, kind: Kind) -> str:
        """The project's own, as it was approved, else the one that Ralph brings."""
        if kind not in self._templates:
            own = loop.sealed.templates.get(kind)
            self._templates[kind] = shipped_template(kind) if own is None else git_text(self._store, own)
        return self._templates[kind]

    def _blob(self, digest: str) -> str:
        return blobs.get(self._blobs, digest).decode("utf-8", "replace")

    def changes(self, base: str, tree: str) -> tuple[FileChange, ...]:
        """Files and line counts between two trees; the newest answer is kept: the next call asks for it."""
        if tree in ("", base):
            return ()
        if self._newest[:2] != (base, tree):
            self._newest = (base, tree, changes(self._store, base, tree))
        return self._newest[2]

    def _changes(self, loop: Loop) -> tuple[FileChange, ...]:
        found = self.changes(loop.sealed.base.tree, loop.work.tree)
        return tuple(one for one in found if one.path not in loop.sealed.rendered_files)


def shipped_template(kind: Kind) -> str:
    """Ralph's own template, with the parts that several of them share put in place."""
    return _INCLUDE.sub(lambda found: read_template(found[1]), read_template(f"{kind}.md.j2"))


def read_template(name: str) -> str:
    return (files("ralph") / "templates" / name).read_text(encoding="utf-8")


def git_text(store: Store, oid: str) -> str:
    return private_call(store, ["cat-file", "blob", oid], limit=MAX_BYTES).out.decode("utf-8", "replace")


def base_files(store: Store, tree: str) -> dict[str, str]:
    """The files at the top of a tree that speak to agents. A link to one of them counts as that one."""
    names = (PROJECT, *GUIDES)
    there = tree_entries(store, tree, *names)
    found: dict[str, str] = {}
    for name in names:
        if name not in there:
            continue
        data = read_blob(store, tree, name, MAX_BYTES) or b""
        if there[name].mode == SYMLINK:
            target = data.decode("utf-8", "replace").removeprefix("./")
            if target == name or target not in there or there[target].mode == SYMLINK:
                continue
            data = read_blob(store, tree, target, MAX_BYTES) or b""
        found[name] = data.decode("utf-8", "replace")
    return {name: text for name, text in found.items() if text.strip()}


def changes(store: Store, old: str, new: str) -> tuple[FileChange, ...]:
    """Files and line counts between two trees, in the order of their paths."""
    args = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", old, new]
    out = private_call(store, args, limit=MAX_CHANGES_BYTES).out
    found = []
    for line in out.split(b"\0")[:-1]:
        added, _, rest = line.partition(b"\t")
        removed, _, path = rest.partition(b"\t")
        counts = (int(added), int(removed)) if added.isdigit() and removed.isdigit() else (None, None)
        found.append(FileChange(os.fsdecode(path), *counts))
    return tuple(found)
