"""Guard "junk": nothing was swept into the result that nobody would commit on purpose. Hygiene: not yet."""

from __future__ import annotations

import posixpath
import re

from msgspec import Struct

from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.toolchains.load import toolchains
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import decode, is_aside, is_testing
from ralph.gates.guards._files.manifests import is_lock
from ralph.gates.judging_paths import is_test

NAME = "junk"
KINDS = guard_kinds(NAME, "delete it, or keep it out of the repository", {
    "cache": ("not yet", "a tool's cache or data was left in the tree",
        "delete it and add it to .gitignore"),
    "large": ("not yet", "a file over 1 MB was added"),
    "binary": ("not yet", "a binary file of a kind the base does not have"),
    "leftover": ("not yet", "a leftover file of an editor, a merge or the system"),
    "installed": ("not yet", "a virtual environment or installed packages"),
    "repository": ("not yet", "a repository inside the repository"),
    "link": ("not yet", "a symbolic link that leads out of the tree"),
})  # fmt: skip
_NO_CACHE = (".coveragerc", ".coveragerc.toml")
# Data that tests of packaging and coverage tools are made of.
_FIXTURE = re.compile(r"\.egg-info\Z|(?:^|/)(?:\.tox|htmlcov|lcov\.info|\.coverage[^/]*)\Z|\.py[co]\Z")
LARGE_BYTES = 1 << 20
_HEAD_BYTES = 8000
_LOCKS = (".lock", "-lock.json")  # of tools that are not known
_LEFTOVER = re.compile(
    r"(?:^|/)(?:[^/]+\.(?:orig|rej|swp|swo|swn|bak|pid)|[^/]+~|\.#[^/]+|#[^/]+#|\.DS_Store|Thumbs\.db|desktop\.ini"
    r"|nohup\.out|core\.\d+|npm-debug\.log[^/]*|yarn-error\.log|[^/]+_(?:BACKUP|BASE|LOCAL|REMOTE)_\d+\.[^/]+)\Z"
)
_INSTALLED = re.compile(r"(?:^|/)(?:node_modules|\.?venv|\.?virtualenv|site-packages|bower_components)(?=/)")
# Pictures, fonts and documents belong to many honest changes.
_ASSET = re.compile(
    r"\.(?:png|jpe?g|gif|ico|icns|webp|avif|bmp|svg|woff2?|ttf|otf|eot|pdf|mp3|ogg|wav|mp4|webm|mo|psd|docx|xlsx|pptx)\Z",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"(?:^|/)(?:test[-_]?data|fixtures?|testdata|data|assets|static|resources|corpus)/", re.IGNORECASE
)


class _Base(Struct, frozen=True):
    """What the base is like."""

    endings: frozenset[str]
    installed: frozenset[str]
    caches: frozenset[tuple[str, str]]  # kept as fixtures of a tool that reads them


def check(facts: GuardFacts) -> GuardResult:
    base = _Base(
        endings=frozenset(map(_ending, facts.base_paths)),
        installed=frozenset(path[: at.end()] for path in facts.base_paths if (at := _INSTALLED.search(path))),
        caches=frozenset(_slot(place) for path in facts.base_paths if (place := _cache(path))),
    )
    found: dict[str, Finding] = {}
    for change in facts.changes:
        if change.status == "D":
            continue
        finding = _look(change, facts, base)
        if finding is not None:
            found.setdefault(finding.key, finding)
    bad = "files that do not belong into the result"
    return guard_result(NAME, facts, found.values(), good="nothing was swept in", bad=bad)


def _look(change: Change, facts: GuardFacts, base: _Base) -> Finding | None:
    path = change.path
    if change.mode == "120000":
        return _link(change, facts)
    if change.mode == "160000" or "/.git/" in f"/{path}":
        return _repository(change, facts)
    is_new = change.status in ("A", "R") and path not in facts.base_paths
    if is_new and (place := _cache(path)):
        if _slot(place) in base.caches or (_FIXTURE.search(place) and is_test(path)):
            return None
        text = f"{place} is a tool's cache or data, and does not belong to the result"
        return Finding(f"junk.cache:{place}", text, path=place)
    size = change.size if change.size is not None else len(facts.read_result(path) or b"")
    before = b"" if change.status == "A" else facts.read_base(change.before) or b""
    if size > LARGE_BYTES >= 2 * len(before) and not (is_lock(path) or path.endswith(_LOCKS)):
        text = f"{path} has {size / LARGE_BYTES:.1f} MB"
        return Finding(f"junk.large:{path}", text, path=path)
    if not is_new:
        return None
    installed = _INSTALLED.search(path)
    if installed:
        place = path[: installed.end()]
        if place in base.installed:
            return None
        text = f"{place} holds installed packages, not work"
        return Finding(f"junk.installed:{place}", text, path=place)
    if _LEFTOVER.search(path) and not is_test(path):
        return Finding(
            f"junk.leftover:{path}", f"{path} is a leftover of an editor, a merge or a tool", path=path
        )
    return _binary(path, facts, base.endings)


def _cache(path: str) -> str:
    """The cache this path belongs to: its folder, or the file itself."""
    known = toolchains().paths
    folder = known.cache_folders.search(path)
    if folder:
        return path[: folder.end()]
    is_file = known.cache_files.search(path) and posixpath.basename(path) not in _NO_CACHE
    return path if is_file else ""


def _binary(path: str, facts: GuardFacts, endings: frozenset[str]) -> Finding | None:
    if (
        is_testing(path)
        or is_aside(path)
        or _ASSET.search(path)
        or _DATA.search(path)
        or _ending(path) in endings
    ):
        return None
    if b"\0" not in (facts.read_result(path) or b"")[:_HEAD_BYTES]:
        return None
    text = f"{path} is binary, and the base has no file of its kind"
    return Finding(f"junk.binary:{path}", text, path=path)


def _slot(path: str) -> tuple[str, str]:
    return posixpath.dirname(path), _ending(path)


def _ending(path: str) -> str:
    return posixpath.splitext(path)[1].lower() or posixpath.basename(path)


def _link(change: Change, facts: GuardFacts) -> Finding | None:
    if change.status == "M" and change.old_mode == "120000":
        before = facts.read_base(change.before)
        if before is not None and _leads_out(change.before, before):
            return None
    target = facts.read_result(change.path) or b""
    if not _leads_out(change.path, target):
        return None
    return Finding(
        f"junk.link:{change.path}", f"{change.path} is a link that leads out of the tree", path=change.path
    )


def _leads_out(path: str, target: bytes) -> bool:
    text = target[:4096].decode("utf-8", "replace")
    if text.startswith("/"):
        return True
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
    return whole == ".." or whole.startswith("../")


def _repository(change: Change, facts: GuardFacts) -> Finding | None:
    path = change.path.split("/.git/")[0]
    if change.mode == "160000":
        if change.status == "M":
            return None  # a submodule that moved on is for the guard "environment"
        listed = decode(facts.read_result(".gitmodules"))
        if re.search(rf"^\s*path\s*=\s*{re.escape(path)}\s*$", listed, re.MULTILINE):
            return None
    return Finding(f"junk.repository:{path}", f"{path} is a separate repository inside this one", path=path)
