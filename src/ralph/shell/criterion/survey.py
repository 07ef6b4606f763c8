"""Everything that inference knows of a repository, in one go: packages, documents, CI, tests, items.

All five layers except the verb. Files are read once, from one commit; each that cannot be used is named.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ralph.core.backlog.items import FILE
from ralph.core.backlog.read_list import commands_of
from ralph.core.criterion import task_words
from ralph.core.criterion.find_commands import (
    candidate,
    ci_candidates,
    common_candidates,
    doc_commands,
    item_command,
    item_commands,
    resolve_script,
    script_candidates,
    table_candidates,
    target_candidates,
)
from ralph.core.criterion.manifests import (
    MAKEFILES,
    just_recipes,
    language_of,
    make_targets,
    read_manifest,
    tox_commands,
)
from ralph.core.criterion.proposal import Candidate, Manifest, ProjectFacts
from ralph.core.criterion.rank import makes_environments
from ralph.core.toolchains.classify_command import VEILED, why_dangerous
from ralph.core.toolchains.load import toolchains
from ralph.shell.criterion import ci
from ralph.shell.criterion.local import Here, localise_candidate
from ralph.shell.criterion.read_repo import Listed, list_files, names_by_folder, read_files
from ralph.shell.git.project import Project

# Layer 2, the more binding ones first.
DOCUMENTS = (
    *("AGENTS.md", "CLAUDE.md", "AIWG.md", "DEVELOPMENT.md", "CONTRIBUTING.md", "README.md"),
    *("README.rst", "README"),
)
_DOCUMENTS = re.compile(
    r"(?:docs|\.github)/(?:DEVELOPMENT|CONTRIBUTING|development|contributing|testing)\.md"
)
_MAIN = re.compile(r"(?:ci|tests?|main|build|checks?|verify|unit|run[_-]?tests?)\.ya?ml")
MAX_DEPTH = 4  # folders below the top in which packages are looked for
MAX_PACKAGES = 60
MAX_PROBED_TESTS = 12  # test files that are looked into for their framework


def survey(project: Project, rev: str, task: str, env: Mapping[str, str]) -> ProjectFacts:
    """What one commit holds, with every candidate in its local form."""
    listed = list_files(project, rev)
    names = names_by_folder(listed)
    looks = [re.compile(language.tests) for language in toolchains().languages.values()]
    tests = [path for path in listed.paths if any(pattern.search(path) for pattern in looks)]
    wanted = (
        _manifests(listed)
        + _documents(listed)
        + _ci_files(listed)
        + tests[:MAX_PROBED_TESTS]
        + _items(listed, task)
    )
    files, skipped = read_files(project, listed, wanted)
    texts = {path: data.decode("utf-8", "replace") for path, data in files.items()}
    manifests = _packages(files, names, tests, texts, listed.paths)
    scripts = _scripts(manifests, texts)
    found, demands, more = _candidates(listed, texts, manifests, scripts, task)
    found = [resolve_script(one, _made_later(listed) | scripts) for one in found]
    found = [_script_file(one, project, listed) for one in found]
    here = Here(project.top, env)
    return ProjectFacts(
        manifests=manifests,
        candidates=tuple(localise_candidate(one, here) for one in found),
        paths=listed.paths,
        demands=tuple(demands),
        skipped=(*skipped, *more),
    )


def _manifests(listed: Listed) -> list[str]:
    names = {*MAKEFILES, "justfile", "Justfile", ".justfile"}
    found = [
        path
        for path in listed.paths
        if path.count("/") <= MAX_DEPTH
        and (language_of(posixpath.basename(path)) or posixpath.basename(path) in names)
    ]
    return sorted(found, key=lambda path: (path.count("/"), path))[:MAX_PACKAGES]


def _documents(listed: Listed) -> list[str]:
    found = [name for name in DOCUMENTS if name in listed.sizes]
    return found + [path for path in listed.paths if _DOCUMENTS.fullmatch(path)]


def _ci_files(listed: Listed) -> list[str]:
    """The main verification first."""
    found = [path for path in listed.paths if ci.FILES.fullmatch(path)]
    return sorted(found, key=lambda path: not _is_main(posixpath.basename(path)))[:30]


def _items(listed: Listed, task: str) -> list[str]:
    """Files that may hold an item or use case that the task names."""
    ids = task_words.named_items(task)
    if not ids:
        return []
    lists = [path for path in listed.paths if FILE.search(path)]
    named = [
        path
        for path in listed.paths
        if path.endswith((".md", ".json", ".txt"))
        and any(one.lower() in posixpath.basename(path).lower() for one in ids)
    ]
    return lists[:3] + named[:10]


def _packages(
    files: Mapping[str, bytes],
    names: Mapping[str, list[str]],
    tests: list[str],
    texts: Mapping[str, str],
    paths: tuple[str, ...],
) -> tuple[Manifest, ...]:
    found: dict[tuple[str, str], Manifest] = {}
    for path, data in files.items():
        if not language_of(posixpath.basename(path)) or path.count("/") > MAX_DEPTH:
            continue
        made = read_manifest(path, data, names.get(posixpath.dirname(path) or ".", ()))
        old = found.get((made.folder, made.language))
        if old is not None:  # setup.py beside pyproject.toml: one package
            places = {
                sign: f"{made.path}:{line or 1}" for sign, line in made.signs.items() if sign not in old.signs
            }
            made = replace(
                old,
                signs=made.signs | old.signs,
                scripts=made.scripts | old.scripts,
                places=places | old.places,
            )
        found[made.folder, made.language] = made
    if not any(language == "python" for _, language in found) and any(path.endswith(".py") for path in tests):
        path = next(path for path in tests if path.endswith(".py"))
        found[".", "python"] = Manifest(path=path, folder=".", language="python", signs={})
    contracts = [path for path in paths if path.endswith(".sol")]
    if contracts and not any(language == "solidity" for _, language in found):
        # Contracts without a file of their tool at hand: what the top says of its dependencies tells which.
        signs = {f"file:{name}": 0 for name in names.get(".", ())}
        for one in [one for one in found.values() if one.folder == "."]:
            signs |= one.signs
        signs |= {"import:forge": 0} if any(path.endswith(".t.sol") for path in contracts) else {}
        found[".", "solidity"] = Manifest(path=contracts[0], folder=".", language="solidity", signs=signs)
    return tuple(_with_imports(one, tests, texts) for one in found.values())


def _is_main(name: str) -> bool:
    return bool(_MAIN.fullmatch(name)) or name.rsplit(".", 1)[0] in toolchains().test_words


def _with_imports(manifest: Manifest, tests: list[str], texts: Mapping[str, str]) -> Manifest:
    """With what the tests of a package are written for, as far as their first lines tell, and where."""
    found: dict[str, str] = {}
    lead = "" if manifest.folder == "." else manifest.folder + "/"
    for path in tests:
        own = path.endswith(".py") == (manifest.language == "python")
        if not path.startswith(lead) or path not in texts or not own:
            continue
        head = texts[path][:4000]
        for row in toolchains().languages[manifest.language].rows:
            sign = next((one for one in row.signs.split() if one.startswith("import:")), "")
            if row.written and (hit := re.search(row.written, head, re.MULTILINE)):
                line = head.count("\n", 0, hit.start() + len(hit.group()) - len(hit.group().lstrip())) + 1
                found.setdefault(sign, f"{path}:{line}")
    signs = manifest.signs | dict.fromkeys(found, 0)
    return replace(manifest, signs=signs, places=manifest.places | found)


def _scripts(
    manifests: tuple[Manifest, ...], texts: Mapping[str, str]
) -> dict[str, dict[str, tuple[str, int]]]:
    found: dict[str, dict[str, tuple[str, int]]] = {}
    for one in manifests:
        if one.scripts:
            found[f"{one.folder}/{'composer' if one.language == 'php' else 'npm'}"] = one.scripts
    for path, text in texts.items():
        name, folder = posixpath.basename(path), posixpath.dirname(path) or "."
        if name in MAKEFILES:
            found.setdefault(f"{folder}/make", make_targets(text))
        elif name.lower().lstrip(".") == "justfile":
            found.setdefault(f"{folder}/just", just_recipes(text))
    return found


def _made_later(listed: Listed) -> dict[str, dict[str, tuple[str, int]]]:
    """Folders whose Makefile is made by configure: it is there when the tests are executed, with these."""
    names = ("Makefile.am", "Makefile.in")
    folders = {posixpath.dirname(path) or "." for path in listed.paths if posixpath.basename(path) in names}
    return {f"{folder}/make": dict.fromkeys(("check", "all", "test"), ("", 0)) for folder in folders}


def _candidates(
    listed: Listed,
    texts: Mapping[str, str],
    manifests: tuple[Manifest, ...],
    scripts: Mapping[str, dict[str, tuple[str, int]]],
    task: str,
) -> tuple[list[Candidate], list[str], list[str]]:
    found: list[Candidate] = []
    demands: list[str] = []
    skipped: list[str] = []
    typed = task_words.task_command(task)
    if typed:
        made = candidate("task", typed, ".", "")
        found += [replace(made, was=typed)] if made else []
    for path in _items(listed, task):
        found += _artifact(path, texts.get(path, ""), task)
    for path in _documents(listed):
        got, said = doc_commands(path, texts.get(path, ""))
        found += got
        demands += said
    for path in _ci_files(listed):
        try:
            found += ci_candidates(ci.commands(path, texts.get(path, "")))
        except ci.Unreadable as error:
            skipped.append(f"{path} was not read: {error}")
    for key, targets in scripts.items():
        folder, _, runner = key.rpartition("/")
        if runner in ("make", "just"):
            path = next(
                path
                for path in texts
                if (posixpath.dirname(path) or ".") == folder and _is_task_file(path, runner)
            )
            found += target_candidates(path, runner, targets)
    for one in manifests:
        found += script_candidates(one)
        found += table_candidates(one)
    if not any(one.kind == "test" and not makes_environments(one.tool) for one in found):
        found += _inside_tox(texts)  # a box has no network to make its environments
    return found + common_candidates(listed.paths), demands, skipped


def _inside_tox(texts: Mapping[str, str]) -> list[Candidate]:
    made = (
        candidate("manifest", run, posixpath.dirname(path) or ".", f"{path}:{line}")
        for path, text in texts.items()
        if posixpath.basename(path) == "tox.ini"
        for run, line in tox_commands(text)
    )
    return [one for one in made if one]


def _is_task_file(path: str, runner: str) -> bool:
    name = posixpath.basename(path)
    return name in MAKEFILES if runner == "make" else name.lower().lstrip(".") == "justfile"


def _artifact(path: str, text: str, task: str) -> list[Candidate]:
    """How an item or use case that the task names says that it is verified."""
    ids = task_words.named_items(task)
    if FILE.search(path):
        named = next((one for one in ids if one in text), "")
        pairs, wrong = commands_of(text, ids.__contains__)
        if wrong and named:
            return [_unread(path, text, named, f"{wrong[0].pointer}: {wrong[0].message}")]
        return [item_command(command, f"{path}:{_line(text, command)}") for _, command in pairs]
    return item_commands(path, text)


def _unread(path: str, text: str, name: str, error: str) -> Candidate:
    """An item that is named and cannot be read: what verifies it must not be guessed instead."""
    why = f"the list could not be read ({error[:200]})"
    return Candidate(layer="artifact", run=name, where=f"{path}:{_line(text, name)}", rejected=why)


def _line(text: str, command: str) -> int:
    at = text.find(msgspec.json.encode(command).decode()[1:-1])
    return text.count("\n", 0, max(0, at)) + 1


def _script_file(made: Candidate, project: Project, listed: Listed) -> Candidate:
    """A script of the repository that is named in a command is looked into for deeds."""
    if made.rejected or not made.kind:
        return made
    for word in f"{made.run} {made.executes}".split():
        path = posixpath.normpath(posixpath.join(made.cwd, word))
        if path not in listed.sizes or not re.search(
            r"\.(?:sh|bash|py|js|mjs|rb|pl)$|^[^.]+$", posixpath.basename(path)
        ):
            continue
        if made.tool in toolchains().runners or posixpath.basename(path) in ("gradlew", "mvnw"):
            continue
        text = read_files(project, listed, [path])[0].get(path, b"").decode("utf-8", "replace")
        body = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        why = why_dangerous(body) if path.endswith((".sh", ".bash")) or text.startswith("#!/bin/") else ""
        if made.kind in ("lint", "format") and toolchains().options["writes"] & {*body.split()}:
            why = "it changes files instead of checking them"
        if why and why != VEILED:
            return replace(made, kind="", rejected=f"{path}: {why}")
    return made
