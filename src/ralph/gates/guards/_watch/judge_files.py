"""Changed files that judge, found by who read them at the base, where the code is the user's.

What tests and the gate's own scripts read and the product does not is the judge: expected values in any
folder, lists of checks, schemas, included makefiles, helpers that fail a test. It is put back when the base's
tests judge the new source. Data that the product reads is product. Where a process tells nothing about its
reads (a shell, a compiler), files that were opened belong to who names them. What cannot be told is unclear:
named, and nobody is accused.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from msgspec import Struct

from ralph.core.model.verdict import FileReads, Reading
from ralph.core.proof.compare import red_keys
from ralph.gates.guards._base.asked_for import wants_changed
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._files.behind_command import files_behind_gates
from ralph.gates.guards._files.test_marks import defines_tests
from ralph.gates.judging_paths import is_config, is_test

_CODE = re.compile(
    r"\.(?:py|pyi|[cm]?[jt]sx?|vue|svelte|go|rs|rb|java|kts?|scala|groovy|cs|fs|vb|swift|php|pl|pm|lua|c|cc|cpp|cxx"
    r"|h|hh|hpp|m|mm|dart|exs?|erl|hs|ml|clj[cs]?|jl|[rR]|nim|zig|d|v|sol|cr)\Z"
)
_SCRIPT = re.compile(
    r"\.(?:sh|bash|zsh|mk|mak|cmake|bats|awk|sed)\Z|(?:^|/)(?:[Mm]akefile|GNUmakefile|justfile)\Z"
)
_DOCUMENT = re.compile(
    r"\.(?:md|markdown|rst|adoc)\Z|(?:^|/)(?:LICENSE|AUTHORS|NOTICE|CHANGELOG|README|VERSION)\Z"
)
_OF_TOOLS = re.compile(r"(?:^|/)(?:package(?:-lock)?\.json|Cargo\.(?:toml|lock)|go\.(?:mod|sum)|[.][^/]*)\Z")
_REMARK = re.compile(r"\s*(?:#|//(?!go:embed)|/?\*|--|>>>)")
_MAX_TEXTS = 400  # files looked into at most, to learn who names a file
_MAX_TEXT, _MAX_ALL = 200_000, 4_000_000
_DEFINED = re.compile(
    r"\b(?:def|fn|function\*?|func(?:\s*\([^)\n]*\))?)\s+(\w+)|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:\(|function)"
)
_VALUES = re.compile(r"^[^#/*\n]*[^=!<>\n]=[^=>]|^\s*export\s+default\b|^\s*\w+:\s*\S", re.MULTILINE)
# What such a file holds is what its folder offers; a value there is the product's (`__version__`).
_DOOR = re.compile(r"(?:^|/)(?:__init__\.pyi?|(?:index|main)\.[cm]?[jt]sx?|(?:mod|lib|main)\.rs|doc\.go)\Z")
_TOLD = re.compile(r"\.(?:py|[cm]?[jt]sx?)\Z")  # who imports it says so
_CLASS = re.compile(r"^\s*(?:export\s+)?(?:default\s+)?class\s", re.MULTILINE)
_FAILED_AT = re.compile(
    r"(?P<py>[\w./-]+\.py):\d+: (?:AssertionError|Failed)\b"  # pytest
    r"|File \"(?P<trace>[^\"\n]+\.py)\", line \d+, in [^\n]+\n[^\n]*\n(?:[ ^~]*\n)?(?=Assertion|[\w.]*Fail)"
    r"|(?:AssertionError|ERR_ASSERTION)[^\n]*(?:\n(?!\s*at )[^\n]*){0,40}(?:\n\s*at [^\n]*node:[^\n]*)*"
    r"\n\s*at [^\n]*?(?P<js>[\w./-]+\.[cm]?[jt]sx?):\d+"
    r"|panicked at (?P<rs>[\w./-]+\.rs):\d+:\d+:\s+assertion|'assertion [^\n]*', (?P<old>[\w./-]+\.rs):\d+"
    r"|^\s+(?P<go>[\w./-]+\.go):\d+: ",
    re.MULTILINE,
)


class Judges(Struct, frozen=True):
    """Of the changed files, by their path in the base or in the result."""

    known: frozenset[str] = frozenset()
    unclear: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()  # new files that stand where judging code looked for something else
    lost: str = ""  # why more may judge than was seen


def watched_judges(facts: GuardFacts) -> Judges:
    """Worked out once for all guards; nothing where no call was watched."""
    return facts.once("judges", lambda: _Look(facts).judges())


def helper_files(facts: GuardFacts) -> frozenset[str]:
    """Code that was read at the base and may help tests, changed or not."""
    look = _Look(facts)
    code = [path for path in look.opened if is_code(path) and not look.is_judging(path)]
    return frozenset(path for path in code if look.kind(path))


def unread_judges(facts: GuardFacts, now: FileReads) -> list[str]:
    """Data that judged at the base, stands as it did, and is read no more, though the tests are the same."""
    look = _Look(facts)
    touched = {path for change in facts.changes for path in (change.before, change.path)}
    if look.reads.lost or now.lost or not now.opened:
        return []
    found = []
    for path in sorted(look.opened - set(now.opened) - touched):
        if is_code(path) or _SCRIPT.search(path) or is_config(path) or look.kind(path) != "judge":
            continue
        word = _naming(posixpath.basename(path))
        if not any(word.search(decode(facts.read_base(one))) for one in touched if look.is_judging(one)):
            found.append(path)
    return found


def looked_up_judges(facts: GuardFacts, now: FileReads) -> dict[str, str]:
    """Tests and expected values, by the opened file of the product whose new lines name one."""
    look = _Look(facts)
    touched = {path for change in facts.changes for path in (change.before, change.path)}
    names = [posixpath.basename(path) for path in facts.base_paths | touched]
    said = {}
    for change in facts.changes:
        own = not look.is_judging(change.path) or wants_changed(facts.task, change.path)
        if own and change.path in now.opened and (is_code(change.path) or _SCRIPT.search(change.path)):
            old = {*decode(facts.read_base(change.before)).splitlines()}
            lines = [line for line in decode(facts.read_result(change.path)).splitlines() if line not in old]
            said[change.path] = "\n".join(line for line in lines if not _REMARK.match(line))
    found: dict[str, str] = {}
    for path in sorted(look.opened - touched) if said else ():
        if not is_config(path) and (look.is_judging(path) or look.kind(path) == "judge"):
            name = posixpath.basename(path)
            word = _naming(name if "." in name and names.count(name) == 1 else path)
            found |= {one: path for one, text in said.items() if word.search(text)}
    return found


def _naming(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(word)}(?!\.?\w|-)")


def base_reads(facts: GuardFacts) -> FileReads | None:
    """What all gates together read at the base."""
    seen = [reading.reads for reading in facts.base.values() if reading.reads is not None]
    if not seen:
        return None
    by: dict[str, set[str]] = {}
    missed: dict[str, set[str]] = {}
    for one in seen:
        for into, rows in ((by, one.by), (missed, one.missed)):
            for path, readers in rows.items():
                into.setdefault(path, set()).update(readers)
    return FileReads(
        opened=tuple(sorted({path for one in seen for path in one.opened})),
        by={path: tuple(sorted(readers)) for path, readers in by.items()},
        missed={path: tuple(sorted(readers)) for path, readers in missed.items()},
        outside=tuple(sorted({name for one in seen for name in one.outside})),
        roots=tuple(sorted({name for one in seen for name in one.roots})),
        lost=next((one.lost for one in seen if one.lost), ""),
    )


def is_code(path: str) -> bool:
    return bool(_CODE.search(path))


class _Look:
    """One look at the changed files of a judgement."""

    def __init__(self, facts: GuardFacts) -> None:
        self.facts = facts
        self.reads = base_reads(facts) or FileReads()
        self.opened = frozenset(self.reads.opened)
        self.behind = files_behind_gates(facts)
        self.collected = {path for one in facts.base.values() for path in one.files.values()}
        self.failing = {
            one.files[key] for one in facts.base.values() for key in red_keys(one) if key in one.files
        }
        self._judging: dict[str, bool] = {}
        self._texts: dict[bool, str] | None = None

    def judges(self) -> Judges:
        if not self.opened:
            return Judges(lost=self.reads.lost)
        known: set[str] = set()
        unclear: set[str] = set()
        added: set[str] = set()
        unseen = not self.reads.by
        for change in self.facts.changes:
            if self.is_judging(change.before) or wants_changed(self.facts.task, change.before):
                continue
            if change.status == "A":
                if self._stands_in(change):
                    added.add(change.path)
                continue
            kind = self.kind(change.before)
            both = {change.before, change.path} if change.status != "D" else {change.before}
            if kind == "judge":
                known |= both
            elif kind == "unclear":
                unclear |= both
            else:
                unseen = unseen or self._may_be_unseen(change.before)
        lost = self.reads.lost if unseen else ""
        return Judges(frozenset(known), frozenset(unclear), frozenset(added), lost)

    def _may_be_unseen(self, path: str) -> bool:
        """Where only the kernel's word was lost: Python and Node tell whether their own code was read."""
        told = any(one.search(path) for one in (_DOCUMENT, _TOLD, _OF_TOOLS))
        return path not in self.opened and not told

    def is_judging(self, path: str) -> bool:
        """A test, a setting of a runner, a script of a gate: by the runner's word, its name, its content."""
        if path not in self._judging:
            self._judging[path] = (
                path in self.behind
                or path in self.collected
                or is_test(path)
                or is_config(path)
                or (is_code(path) and defines_tests(path, decode(self.facts.read_base(path))))
            )
        return self._judging[path]

    def kind(self, path: str) -> str:
        """Of what use a file of the base is: judge, unclear, or "" for product."""
        if path not in self.opened:  # a check that is red may have stopped before it came so far
            named = not is_code(path) and not _DOCUMENT.search(path) and self._named_by(path, near=False)
            return "judge" if named == {True} and self._reaches_product() else ""
        readers = {one for one in self.reads.by.get(path, ()) if one}
        return self._kind_of_code(path, readers) if is_code(path) else self._kind_of_data(path, readers)

    def _kind_of_data(self, path: str, readers: set[str]) -> str:
        if _DOCUMENT.search(path) and not self._may_fail(readers):
            return ""  # a document that changes with what it describes
        if readers:
            if not all(map(self.is_judging, readers)):
                return "unclear" if self._named_by(path) == {True} else ""
            return "judge" if any(map(self._uses_product, readers)) else ""
        named = self._named_by(path)
        if named == {True}:
            return "judge" if self._reaches_product() else ""
        return "" if named or _OF_TOOLS.search(path) else "unclear"

    def _kind_of_code(self, path: str, readers: set[str]) -> str:
        if readers and not all(map(self.is_judging, readers)):
            return ""
        if path in self._failed_at() and (readers or self._only_tests_import(path)):
            return "judge"
        if path.endswith(".rs") and self._is_dev_crate(path):
            return "judge"
        text = decode(self.facts.read_base(path))
        values = bool(_VALUES.search(text)) and not _functions(text) and not _CLASS.search(text)
        if self._may_fail(readers) and not _DOOR.search(path) and values:
            # values, written as code; where nothing else is tried, they are the product
            return "judge" if any(self._uses_product(one, besides=path) for one in readers) else ""
        only_tests = bool(readers) or self._only_tests_import(path)
        return "unclear" if only_tests and self._is_handed_values(path) else ""

    def _is_handed_values(self, path: str) -> bool:
        """Do tests give it what other code of the product gave them, as they would to have it compared?"""
        own = "|".join(map(re.escape, _functions(decode(self.facts.read_base(path)))))
        others = [one for one in self.opened if is_code(one) and one != path and not self.is_judging(one)]
        names = {
            name for one in others[:_MAX_TEXTS] for name in _functions(decode(self.facts.read_base(one)))
        }
        said = self._all_texts()[True]
        if not own or not names:
            return False
        made = re.compile(rf"(\w+)\s*(?::[^=\n]*)?:?=[^=\n][^\n]*\b(?:{'|'.join(map(re.escape, names))})\(")
        values = [rf"{re.escape(name)}\(" for name in names]
        values += [rf"{re.escape(name)}\b" for name in set(made.findall(said))]
        given = re.compile(rf"\b(?:{own})\((?:[^()\n]|\([^()\n]*\))*?\b(?:{'|'.join(values)})")
        return bool(given.search(said))

    def _may_fail(self, readers: set[str]) -> bool:
        """Is one of them a file with red tests? Some runners do not tell in which file a test stands."""
        return bool(readers & self.failing) or (bool(readers) and not self.collected)

    def _uses_product(self, reader: str, besides: str = "") -> bool:
        """Does who reads it try the product as well? Else the data itself is what is being checked."""
        if not is_code(reader):
            return True
        return any(
            reader in by and is_code(path) and path != besides and not self.is_judging(path)
            for path, by in self.reads.by.items()
        ) or any("subprocess" in one or "child_process" in one for one in self.reads.outside)

    def _reaches_product(self) -> bool:
        return any(is_code(one) and not self.is_judging(one) for one in self.opened)

    def _named_by(self, path: str, *, near: bool = True) -> set[bool]:
        """Whose text names this file, or else the folder it stands in: True judging, False product."""
        words = [path, posixpath.basename(path), posixpath.basename(posixpath.dirname(path))]
        found: set[bool] = set()
        for word in dict.fromkeys(words if near else words[:2]):
            named = _naming(word) if word and not found else None
            found |= {judging for judging, text in self._all_texts().items() if named and named.search(text)}
        return found

    def _all_texts(self) -> dict[bool, str]:
        """What judging files and what the product say, of those that were opened at the base."""
        if self._texts is None:
            parts: dict[bool, list[str]] = {True: [gate.run for gate in self.facts.gates], False: []}
            said = (one for one in sorted(self.opened) if is_code(one) or _SCRIPT.search(one))
            for path in [*said, *self.behind][:_MAX_TEXTS]:
                data = self.facts.read_base(path) or b""
                judging = self.is_judging(path) or bool(_SCRIPT.search(path))
                parts[judging].append(data[:_MAX_TEXT].decode("utf-8", "replace"))
            self._texts = {judging: "\n".join(texts)[:_MAX_ALL] for judging, texts in parts.items()}
        return self._texts

    def _stands_in(self, change: Change) -> bool:
        """A new file where judging code looked for one, or that it would take for a module from elsewhere."""
        looked = {one for one in self.reads.missed.get(change.path, ()) if one}
        if looked:
            return all(map(self.is_judging, looked)) and not self._was_wanted(change.path)
        for root in self.reads.roots:
            lead = "" if root == "." else f"{root}/"
            if change.path.startswith(lead) and change.path.endswith((".py", ".so")):
                top = change.path[len(lead) :].split("/")[0].split(".")[0]
                if top in self.reads.outside:
                    return True
        return bool(_SCRIPT.search(change.path)) and self._named_by(change.path) == {True}

    def _was_wanted(self, path: str) -> bool:
        """Did a check say at the base that it cannot go on without this module?"""
        stem = re.escape(posixpath.basename(path).rsplit(".", 1)[0])
        wanted = re.compile(rf"(?:Cannot find (?:module|package)|No module named)[^\n]*\b{stem}\b")
        said = (one.message for reading in self.facts.base.values() for one in reading.findings)
        return any(map(wanted.search, said))

    def _failed_at(self) -> set[str]:
        """Files in which the base's red tests failed by an assertion, as their messages tell."""
        readings = self.facts.base.values()
        return self.facts.once(
            "failed at",
            lambda: {self._known_path(where) for reading in readings for where in _places(reading)} - {""},
        )

    def _known_path(self, where: str) -> str:
        """The file of the tree that a message names, by its path or the end of it."""
        where = posixpath.normpath(where)
        if where in self.facts.base_paths:
            return where
        fits = [one for one in self.opened if where.endswith(f"/{one}") or one.endswith(f"/{where}")]
        return fits[0] if len(fits) == 1 else ""

    def _only_tests_import(self, path: str) -> bool:
        """Go: only test files of other folders import its package. Rust: only tests name its module."""
        folder, name = posixpath.split(path)
        if path.endswith(".go") and folder:
            used = re.compile(rf'"[^"\n]+/{re.escape(folder)}"')
        elif path.endswith(".rs") and name not in ("lib.rs", "main.rs"):
            stem = re.escape(posixpath.basename(folder) if name == "mod.rs" else name.removesuffix(".rs"))
            used = re.compile(rf"\b{stem}::|\buse\b[^;]*\b{stem}\b")
        else:
            return False
        ending = path[-3:]
        users = [
            one
            for one in sorted(self.facts.base_paths)
            if one.endswith(ending) and one != path and used.search(decode(self.facts.read_base(one)))
        ]
        return bool(users) and all(map(self.is_judging, users))

    def _is_dev_crate(self, path: str) -> bool:
        """Rust: its crate is what others depend on for their tests only."""
        crate = _folder_with(path, "Cargo.toml", self.facts.base_paths)
        if not crate:
            return False
        name = posixpath.basename(crate)
        uses: set[bool] = set()
        for one in sorted(self.facts.base_paths):
            if one.rsplit("/", 1)[-1] != "Cargo.toml" or posixpath.dirname(one) == crate:
                continue
            section = ""
            for line in decode(self.facts.read_base(one)).split("\n"):
                section = line.strip().strip("[]") if line.startswith("[") else section
                if "path" in line and re.search(rf"[\"'/]{re.escape(name)}[\"'/]", line):
                    uses.add("dev-dependencies" in section)
        return uses == {True}


def _functions(text: str) -> set[str]:
    """Names of functions that a text defines, in whatever language."""
    return {name for hit in _DEFINED.finditer(text) for name in hit.groups() if name}


def _places(reading: Reading) -> Iterable[str]:
    for finding in reading.findings:
        for match in _FAILED_AT.finditer(finding.message):
            yield next(where for where in match.groups() if where)


def _folder_with(path: str, name: str, paths: frozenset[str]) -> str:
    """The nearest folder above a file that holds this one; "" = none but the top."""
    folder = posixpath.dirname(path)
    while folder and f"{folder}/{name}" not in paths:
        folder = posixpath.dirname(folder)
    return folder
