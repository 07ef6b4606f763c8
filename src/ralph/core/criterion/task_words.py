"""What a task's words name: a command, a package, a test file, an item, an output; or only a wish. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from ralph.core.criterion.proposal import Manifest
from ralph.core.toolchains.classify_command import sort_command
from ralph.core.toolchains.load import toolchains

_TICKED = re.compile(r"`([^`\n]{3,300})`")
_RUN = (
    r"\b(?:run|until|make|get|have)\s+(?P<cmd>(?:npm|npx|yarn|pnpm|bun|python3?|go|cargo|mvn|make|tox|nox|uv|"
    r"poetry|ruff|mypy|pyright|eslint|tsc|bundle|rspec|composer|dotnet|ctest|mix|forge|TESTERS|\./\S+)"
    r"(?:\s+[\w./:=@,*-]+)*?)\s+(?:pass(?:es)?|succeeds?|exits?|is green|green|works|until)\b"
)
_PATH = re.compile(
    r"(?<![\w/.-])(?:[\w.-]+/)*[\w.-]+\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])|(?<![\w/.-])(?:[\w.-]+/)+[\w.-]*"
)
_ITEM = re.compile(
    r"(?<![\w-])[A-Z][A-Z0-9]{1,15}-(?:[A-Z0-9]+-)?\d{1,6}(?![\w-])|(?<![\w-])[A-Z][A-Z0-9]{1,15}-[A-Z][A-Z0-9]{1,20}(?![\w-])"
)
_WORD = re.compile(r"[A-Za-z][\w.+#-]*|\d+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What is left of a task without these names something; nothing left means that nothing was named.
_VERBS = _set(
    "make get keep fix improve clean polish enhance optimize optimise refactor rewrite tidy update "
    "upgrade change do finish complete work modernize modernise simplify ensure bring turn go handle "
    "address review check look try ralph loop iterate help please can could would should let lets want "
    "need be is are it this that these those them they all any up more much very so too the a an of to "
    "for in on with and or as at by from my our your its whole entire everything something anything "
    "thing things stuff some few bit little until when now then just really nicely well out over "
    "through"
)
_WISHES = _set(
    "better best good great nice nicer cleaner clean perfect awesome beautiful robust solid quality "
    "professional production ready production-ready readable maintainable readability maintainability "
    "faster fast performance performant speed scalable modern idiomatic proper properly right correct "
    "nicely thorough comprehensive complete done working works improvements improvement higher highest "
    "excellent secure-ish user-friendly elegant ux"
)
_WHOLES = _set(
    "code codebase project app application repo repository program software source sources files file "
    "system site"
)
# Folders that every project has: "the tests" are not the package tests/.
_EVERYWHERE = _set(
    "test tests spec specs doc docs build code lint check checks example examples bench coverage types"
)
_STUDY = _set(
    "research investigate analyse analyze compare evaluate explore study survey summarise summarize assess"
)

_WRITING = _set("write draft create add produce prepare document describe")


def task_command(task: str) -> str:
    """The command that the task itself names; "" when it names none."""
    for text in _TICKED.findall(task):
        if sort_command(text).kind:
            return str(text).strip()
    hit = re.search(_RUN.replace("TESTERS", "|".join(toolchains().test_words)), task)
    command = hit["cmd"].strip() if hit else ""
    # "make mypy pass" names a tool; how this project calls it is found.
    bare = " " not in command or command in ("go test", "go vet", "go build")
    return "" if bare or not sort_command(command).kind else command


def only_a_wish(task: str) -> bool:
    """Does the task name nothing that a check could be about ("make the code better")?"""
    words = [word.lower() for word in _WORD.findall(task)]
    return not [word for word in words if word not in _VERBS | _WISHES | _WHOLES]


def unmeasured_quality(task: str) -> str:
    """The quality that a task asks for without a number; "" when it asks for something else."""
    words = [word.lower() for word in _WORD.findall(task)]
    first = words[0] if words else ""
    wish = next((word for word in words if word in _WISHES), "")
    return wish if first in ("improve", "optimize", "optimise", "enhance", "polish") and wish else ""


def is_study(task: str) -> bool:
    """Is the result a text: a study, or a document that is to be written?"""
    words = [word.lower() for word in _WORD.findall(task)]
    if any(word in _STUDY for word in words[:2]):
        return True
    written = [path for path in named_paths(task) if path.endswith((".md", ".rst", ".adoc"))]
    return bool(written) and any(word in _WRITING for word in words[:2])


def named_paths(task: str) -> list[str]:
    found = [hit.rstrip("/.").removeprefix("./") for hit in _PATH.findall(task)]
    return [
        path
        for path in dict.fromkeys(found)
        if path and ".." not in path.split("/") and not path.startswith("/")
    ]


def named_items(task: str) -> list[str]:
    """Ids such as UC-012, AUTH-003 or FEAT-LOGIN."""
    return list(dict.fromkeys(_ITEM.findall(task)))[:5]


def named_tests(task: str, paths: Iterable[str]) -> list[str]:
    """Test files that the task names, by path or by a unique ending."""
    listed = list(paths)
    found = []
    for name in named_paths(task):
        hits = [path for path in listed if path == name or path.endswith("/" + name)]
        if len(hits) == 1 and re.search(
            r"(?:^|/|[._-])(?:tests?|spec)[._/-]|(?:_test|_spec|Test)\.\w+$", hits[0]
        ):
            found.append(hits[0])
    return found


def scopes(task: str, prefix: str, manifests: Iterable[Manifest]) -> list[str]:
    """The packages that a task is about, the nearest first; empty = the task and the folder do not say."""
    packages = {manifest.folder: manifest for manifest in manifests}
    inner = sorted((folder for folder in packages if folder != "."), key=len, reverse=True)
    words = {word.lower() for word in _WORD.findall(task)} - _EVERYWHERE
    named = [
        folder
        for folder in inner
        if any(path == folder or path.startswith(folder + "/") for path in named_paths(task))
        or (posixpath.basename(folder).lower() in words and len(posixpath.basename(folder)) > 2)
        or (packages[folder].name and packages[folder].name.lower().rsplit("/", 1)[-1] in words)
        or (packages[folder].name and packages[folder].name in task)
    ]
    if named:
        return [folder for folder in named if not any(other.startswith(folder + "/") for other in named)]
    here = prefix.rstrip("/")
    if here:
        near = [folder for folder in inner if here == folder or here.startswith(folder + "/")]
        return near[:1]
    return []
