"""Texts to candidates: commands in documents, scripts of manifests, commands of CI files. Pure.

Each candidate carries where it stands. What a script starts is looked through, so that `npm test` is known
to be jest, and a `test` that deploys is known to deploy.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.criterion.proposal import Candidate, Layer, Manifest
from ralph.core.toolchains.classify_command import (
    fetches,
    named_kind,
    script_of,
    sort_command,
    sounds_like_check,
    why_dangerous,
)
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.never_fails import why_degenerate, why_idle
from ralph.core.toolchains.rows import KINDS, UsualCheck
from ralph.core.toolchains.split_command import judging, split

Scripts = Mapping[str, Mapping[str, tuple[str, int]]]  # folder + runner ("./npm", "api/make") -> scripts
MAX_DEPTH = 4  # scripts that start scripts
_FENCE = re.compile(r"^\s*(?:```|~~~)\s*([\w+-]*)")
_SHELLS = frozenset(
    {"", "sh", "bash", "shell", "console", "zsh", "text", "terminal", "fish", "shell-session"}
)
_INLINE = re.compile(r"`([^`\n]{3,200})`")
_CD = re.compile(r"^cd\s+([\w./-]+)\s*&&\s*(.+)$", re.DOTALL)
_DEMAND = re.compile(
    r"(?:not (?:done|finished|complete)|never (?:commit|finish)|must|always).{0,60}?"
    r"(?:CI|tests?|lint|checks?).{0,20}?(?:pass|green)",
    re.IGNORECASE,
)
_FORBID = re.compile(
    r"\b(?:never|do not|don't|avoid|deprecated|instead of|no longer|legacy)\b", re.IGNORECASE
)


class CiCommand(Struct, frozen=True):
    """A command as it stands in a CI file."""

    run: str
    where: str
    cwd: str = "."
    job: str = ""
    aside: bool = False  # its workflow or job is not what every change goes through


def doc_commands(path: str, text: str) -> tuple[list[Candidate], list[str]]:
    """Commands in code blocks and code spans, and sentences that say when work counts as finished."""
    found: list[Candidate] = []
    demands: list[str] = []
    fence = False
    shell = True
    for number, line in enumerate(text.splitlines()[:4000], 1):
        mark = _FENCE.match(line)
        if mark:
            fence = not fence
            shell = mark.group(1).lower() in _SHELLS
            continue
        if fence and not shell:
            continue
        where = f"{path}:{number}"
        if not fence and _DEMAND.search(line):
            demands.append(f"{where} says: {line.strip()[:160]}")
        texts = [_strip_shell_prompt(line)] if fence or line.startswith(("    ", "\t")) else _spans(line)
        for one in texts:
            made = candidate("docs", one, ".", where)  # also those of docs/ and .github/
            if made and not fence and _only_mentioned(one, line):
                made = replace(made, usual=True)
            if made and (made.kind or why_dangerous(one) or (sounds_like_check(one) and why_degenerate(one))):
                found.append(made)
    return found, demands


_TOLD = re.compile(
    r"(?:\b(?:run(?:ning)?|execut(?:e|ing)|call|use|invoke|type)(?: \w+)?|[:|]|^\W*)\s*$", re.IGNORECASE
)


def _only_mentioned(text: str, line: str) -> bool:
    """Is it a bare name in a sentence ("entry points (`mocha`)"), where nothing says to execute it?"""
    at = line.find(f"`{text}`")
    return at > 0 and text in toolchains().tools and _TOLD.search(line[:at]) is None


def _spans(line: str) -> list[str]:
    """The code spans of a line, without those of a sentence that says what not to do."""
    found = []
    for hit in _INLINE.finditer(line):
        begin = max(line.rfind(mark, 0, hit.start()) for mark in (". ", "; ", ": ", "! "))
        end = min((at for mark in (". ", "; ") if (at := line.find(mark, hit.end())) >= 0), default=len(line))
        if not _FORBID.search(line[max(begin, 0) : hit.start()] + line[hit.end() : end]):
            found.append(hit.group(1))
    return found


def _strip_shell_prompt(line: str) -> str:
    text = re.sub(r"^\s*(?:[\w@~/.-]*[$>%]\s+)?", "", line)
    return re.sub(r"\s+#\s.*$", "", text).strip()


def candidate(layer: Layer, run: str, cwd: str, where: str) -> Candidate | None:
    """A command as a candidate, sorted; None for what is not even a command."""
    run = run.strip()
    moved = _CD.match(run)
    if moved:
        cwd = posixpath.normpath(posixpath.join(cwd, moved.group(1)))
        run = moved.group(2).strip()
    first, both, rest = run.partition("&&")
    while both and layer in ("docs", "ci") and fetches(first.split()):  # that was done, or `setup` does it
        run = rest.strip()
        first, both, rest = run.partition("&&")
    run = re.sub(r"\Atime\s+(?:-p\s+)?(?=\w)", "", run)  # a word of bash, which measures what comes behind it
    if not run or run.startswith(("#", "<", "|")) or cwd.startswith(".."):
        return None
    if run.endswith(("&&", "||", "|", "\\")):
        return None  # a part of something longer
    if layer != "artifact" and (run.startswith("/") or run.count("(") != run.count(")")):
        return None  # a path, or words; an item says itself that it is a command
    told = sort_command(run)
    return Candidate(
        layer=layer, run=run, kind=told.kind, cwd=cwd, where=where, tool=told.tool, rejected=told.why
    )


_VERIFIES = re.compile(
    r"\b(?:verif\w*|acceptance|proof|how to (?:test|check)|definition of done)\b", re.IGNORECASE
)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s")


def item_command(run: str, where: str) -> Candidate:
    """A command by which an item says that it is verified: its own word, so no check of a known kind need be.

    What does a deed, needs the network or can never fail is refused, and with it the whole item.
    """
    made = candidate("artifact", run, ".", where)
    if made is None:
        return Candidate(layer="artifact", run=run.strip(), where=where, rejected="it is no command")
    if made.kind:
        return made
    why = why_dangerous(made.run) or why_degenerate(made.run)
    if not why and any(fetches(words) for words in split(made.run)):
        why = "it installs something and checks nothing; give it as setup"
    unknown = made.rejected.endswith(("is no check that is known", "is not used as a check here"))
    if not why and not unknown and not made.rejected.endswith("whose purpose is not known"):
        why = made.rejected
    return replace(made, rejected=why, kind="" if why else "custom")


def item_commands(path: str, text: str) -> list[Candidate]:
    """The commands of a use case: all that stand where it says how it is verified, else its known checks."""
    found: list[Candidate] = []
    fence = verifying = False
    for number, line in enumerate(text.splitlines()[:4000], 1):
        if _FENCE.match(line):
            fence = not fence
            continue
        if not fence and _HEADING.match(line):
            verifying = _VERIFIES.search(line) is not None
            continue
        where = f"{path}:{number}"
        if verifying or (not fence and _VERIFIES.search(line)):
            texts = [_strip_shell_prompt(line)] if fence else _spans(line)
            found += [item_command(one, where) for one in texts if one and (fence or is_command(one))]
    if found:
        return found
    got, _ = doc_commands(path, text)
    return [replace(one, layer="artifact", cwd=".") for one in got if one.kind and not one.rejected]


def is_command(text: str) -> bool:
    """Is a code span a command, and not a name or a value?"""
    first = next(iter(text.split()), "")
    known = bool(sort_command(text).kind or why_dangerous(text) or why_degenerate(text))
    if first in _LOOKING:  # these are words too
        return _OPERAND.search(text) is not None
    return known or first.startswith("./") or (" " in text and _PROGRAM.fullmatch(first) is not None)


_LOOKING = frozenset({"test", "[", "grep", "diff", "cmp", "jq"})
_OPERAND = re.compile(r"\s(?:-\w|[\w./]*[./]\w)|\s['\"]")


_PROGRAM = re.compile(r"(?:ba)?sh|python3?|node|np[mx]|make|go|cargo|uv|java|ruby|php")


def ci_candidates(lines: Iterable[CiCommand]) -> list[Candidate]:
    """Candidates from the commands of CI files; jobs that deploy are left out as a whole."""
    found = []
    for line in lines:
        for text in ci_texts(line.run):
            made = candidate("ci", text, line.cwd, line.where)
            if made is None:
                continue
            made = replace(made, aside=line.aside)
            if named_kind(line.job) == "deploy":
                made = replace(made, kind="", rejected=f'its job "{line.job}" deploys or publishes')
            if made.kind or made.rejected:
                found.append(made)
    return found


def ci_texts(block: str) -> list[str]:
    """The commands of a `run: |` block, one each; control flow makes the rest of a block unreadable."""
    texts = []
    for line in re.sub(r"\\\n\s*", " ", block).splitlines()[:200]:
        text = line.strip()
        if re.match(r"(?:if|for|while|case|until|function)\b|.*<<", text):
            break
        if text and not text.startswith("#"):
            texts.append(re.sub(r"\s+#\s.*$", "", text))
    return texts


def resolve_script(made: Candidate, scripts: Scripts) -> Candidate:
    """The candidate with what its script really starts; a script that does a deed is rejected for it."""
    body, inner = made.run, made
    if not made.kind:
        return made
    for _ in range(MAX_DEPTH):
        named = script_of(body)
        if named is None:
            break
        runner, name = named
        family = "npm" if runner in ("npm", "yarn", "pnpm", "bun") else runner
        known = scripts.get(f"{made.cwd}/{family}", {})
        plain = family in ("make", "just") or split(body)[0][1] in ("test", "run", "run-script")
        if plain and not known and body == made.run and made.layer in ("docs", "ci"):
            what = "package.json with scripts" if family == "npm" else f"file of {family}"
            return replace(made, kind="", rejected=f"there is no {what} in the commit")
        if name not in known:
            if made.layer in ("docs", "ci") and known:
                return replace(made, kind="", rejected=f'there is no script "{name}"')
            break
        body = known[name][0]
        before, after = (
            known[f"{when}{name}"][:1] if family == "npm" and f"{when}{name}" in known else ()
            for when in ("pre", "post")
        )
        inner = _inside(inner, body, " && ".join([*before, body, *after]))
        if inner.rejected or before or after:
            break
    return inner


def _inside(made: Candidate, body: str, whole: str) -> Candidate:
    shown = f"{made.executes} -> {whole}" if made.executes else whole
    why = why_dangerous(whole) or (body and why_degenerate(body)) or _why_other_kind(made, body)
    if not why:
        named = [named_kind(script[1]) for words in split(whole) if (script := script_of(" ".join(words)))]
        why = "it deploys or publishes" if "deploy" in named else ""
    if why:
        return replace(made, kind="", executes=shown[:400], rejected=f"its script is `{body[:120]}`: {why}")
    told = sort_command(body)
    tool = told.tool if told.kind == made.kind and told.tool else made.tool
    made = replace(made, executes=shown[:400], tool=tool)
    if any(fetches(words) for words in split(whole)):
        return replace(made, network=True, note="its script installs dependencies first")
    return made


_DOES = {
    "lint": "lints",
    "format": "checks the format",
    "types": "checks types",
    "build": "builds",
    "docs": "builds documents",
}


def _why_other_kind(made: Candidate, body: str) -> str:
    """A script that is called a test and is known to do only something else tests nothing."""
    ends = judging(body)
    if made.kind != "test" or ends is None:
        return ""
    parts = [list(words) for words in ends.judged]
    kinds = {sort_command(shlex.join(words)).kind for words in parts if not why_idle(words)}
    does = sorted(_DOES[kind] for kind in kinds if kind in _DOES)
    return f"it {' and '.join(does)}, and executes no test" if does and kinds <= set(_DOES) else ""


def script_candidates(manifest: Manifest) -> list[Candidate]:
    """The scripts of a package.json or composer.json that are checks."""
    runner = "composer" if manifest.language == "php" else packager(manifest)
    found = []
    for name, (body, line) in manifest.scripts.items():
        kind = named_kind(name)
        if kind not in KINDS or name.startswith(("pre", "post")):
            continue
        plain = name == "test" or runner in ("yarn", "pnpm", "composer")
        run = f"{runner} {name}" if plain else f"{runner} run {name}"
        made = Candidate(
            layer="manifest",
            run=run,
            kind=kind,
            cwd=manifest.folder,
            where=f"{manifest.path}:{line}",
            tool=f"{runner}:{name}",
        )
        told = sort_command(body)
        if told.kind and told.kind != kind and kind not in ("test", "coverage"):
            made = replace(made, kind=told.kind)
        found.append(made)
    return found


def packager(manifest: Manifest) -> str:
    for lock, name in (
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ):
        if f"file:{lock}" in manifest.signs:
            return name
    return "npm"


def target_candidates(path: str, runner: str, targets: Mapping[str, tuple[str, int]]) -> list[Candidate]:
    """The targets of a Makefile or justfile that are checks."""
    folder = posixpath.dirname(path) or "."
    found = []
    for name, (_, line) in targets.items():
        kind = named_kind(name)
        if kind in KINDS and name not in ("all", "dist"):
            found.append(
                Candidate(
                    layer="manifest",
                    run=f"{runner} {name}",
                    kind=kind,
                    cwd=folder,
                    where=f"{path}:{line}",
                    tool=f"{runner}:{name}",
                )
            )
    return found


def table_candidates(manifest: Manifest) -> list[Candidate]:
    """The usual checks of a package's language that it shows signs of, the better tool of each kind first."""
    found = []
    for row in toolchains().languages[manifest.language].rows:
        sign = seen_sign(row, manifest)
        if sign is not None:
            found.append(_from_row(row, manifest.folder, _where(manifest, sign), sign))
    return found


def _where(manifest: Manifest, sign: str) -> str:
    """The file and line that say so: of a file that is itself the sign, its first line."""
    if sign.startswith("file:"):
        return posixpath.normpath(posixpath.join(manifest.folder, sign.removeprefix("file:"))) + ":1"
    return manifest.places.get(sign) or f"{manifest.path}:{manifest.signs.get(sign) or 1}"


def common_candidates(paths: Iterable[str]) -> list[Candidate]:
    """Checks for any repository; only one a tool."""
    files = {f"file:{path}" for path in paths}
    found: dict[str, Candidate] = {}
    for row in toolchains().common:
        if row.signs == "*" or files & set(row.signs.split()):
            found.setdefault(row.tool, _from_row(row, ".", "", row.signs))
    return list(found.values())


def seen_sign(row: UsualCheck, manifest: Manifest) -> str | None:
    signs = row.signs.split()
    return "*" if signs == ["*"] else next((sign for sign in signs if sign in manifest.signs), None)


def _from_row(row: UsualCheck, folder: str, where: str, sign: str) -> Candidate:
    return Candidate(
        layer="table" if not where or sign.startswith(("import:", "file:")) else "manifest",
        run=row.run,
        kind=row.kind,
        cwd=folder,
        where=where,
        tool=row.tool,
        network=row.network,
        usual=sign != "*" and not sign.startswith("word:"),
        note=row.note or _shows(sign),
    )


def _shows(sign: str) -> str:
    sort, _, name = sign.partition(":")
    return f"its tests are written for {name}" if sort == "import" else f"it names {name}" if name else ""
