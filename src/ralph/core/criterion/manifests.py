"""Manifests to packages: what a parsed pyproject.toml, package.json, … says of its folder. Pure.

The bytes were read and bounded by the shell. A manifest that cannot be parsed is a package without signs.
"""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterable, Mapping
from configparser import Error as IniError
from configparser import RawConfigParser

import msgspec

from ralph.core.criterion.proposal import Manifest
from ralph.core.toolchains.load import toolchains

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_NAME = re.compile(r"[A-Za-z0-9@][A-Za-z0-9._/@-]*")
_GEM = re.compile(r"^[ \t]*gem[ \t]+['\"]([\w.-]+)['\"]", re.MULTILINE)
_MIX = re.compile(r"\{:(\w+),")
_ARTIFACT = re.compile(r"<artifactId>\s*([\w.-]+)\s*</artifactId>")
_ASSIGNED = re.compile(r"^[ ]*(?:export +|override +)*(\w+)\s*([?+]|:{1,3}|)=[ \t]*([^#\n]*)", re.MULTILINE)
# What make sets by itself, and what only the machine knows and stays a word.
_IMPLIED = {
    "MAKE": "make",
    "CC": "cc",
    "CXX": "c++",
    "RM": "rm -f",
    "SHELL": "sh",
    **{name: name for name in ("HOME", "PWD", "CURDIR", "PATH", "USER", "TMPDIR", "DESTDIR", "VIRTUAL_ENV")},
}
_SAYING = re.compile(r"\$\((?:info|warning)\b[^()]*(?:\([^()]*\)[^()]*)*\)")
_PLUGIN = re.compile(r"checkstyle|spotless|junit|kotest|jacoco|spotbugs")
_FAIL_UNDER = re.compile(r"^\s*fail_under\s*=\s*(\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_WORD = re.compile(
    r"^[ \t]*(enable_testing|add_test|gtest_discover_tests|catch_discover_tests)\s*\(", re.MULTILINE
)


def language_of(name: str) -> str:
    """The language whose package a file of this name marks; "" for none."""
    name = posixpath.basename(name)
    for language in toolchains().languages.values():
        for mark in language.marks:
            if name == mark or (mark.startswith("*") and name.endswith(mark[1:])):
                return language.name
    return ""


def line_of(text: str, *needles: str) -> int:
    """The first line, from 1, that holds the needles one after another; 0 when none does."""
    at = 0
    for needle in needles:
        at = text.find(needle, at)
        if at < 0:
            return 0
    return text.count("\n", 0, at) + 1


def read_manifest(path: str, data: bytes, beside: Iterable[str]) -> Manifest:
    """`beside`: names of the files in the same folder."""
    name, folder = posixpath.basename(path), posixpath.dirname(path) or "."
    language = language_of(name)
    text = data.decode("utf-8", "replace")
    signs = {f"file:{other}": 0 for other in beside}
    scripts: dict[str, tuple[str, int]] = {}
    title = ""
    try:
        if name.endswith(".toml"):
            document = tomllib.loads(text)
            title = _text(_at(document, "project", "name") or _at(document, "package", "name"))
            signs |= _toml_signs(document, text)
        elif name.endswith(".json"):
            title, scripts, more = _json(text)
            signs |= more
        elif name in ("setup.cfg", "tox.ini"):
            signs |= _ini_signs(text)
    except (ValueError, RecursionError, IniError):
        pass
    if name in ("requirements.txt", "Pipfile", "setup.py", "setup.cfg"):
        signs |= _find_requirements(text)
    signs |= _by_pattern(name, text)
    return Manifest(path=path, folder=folder, language=language, name=title, scripts=scripts, signs=signs)


def _by_pattern(name: str, text: str) -> dict[str, int]:
    """Manifests that are programs are never executed: only what stands in them literally is seen."""
    patterns = {
        "Gemfile": _GEM,
        "mix.exs": _MIX,
        "pom.xml": _ARTIFACT,
        "build.gradle": _PLUGIN,
        "build.gradle.kts": _PLUGIN,
    }
    found: dict[str, int] = {}
    if name in patterns:
        for hit in patterns[name].finditer(text):
            word = hit.group(1) if hit.re.groups else hit.group(0)
            found.setdefault(f"dep:{word}", text.count("\n", 0, hit.start()) + 1)
    if wanted := _FAIL_UNDER.search(text):
        found[f"fail_under:{wanted[1]}"] = text.count("\n", 0, wanted.start(1)) + 1
    if name == "CMakeLists.txt":
        for hit in _WORD.finditer(text):
            found.setdefault(f"word:{hit.group(1)}", text.count("\n", 0, hit.start()) + 1)
    return found


def _toml_signs(document: Mapping[str, object], text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    tool = document.get("tool")
    for name, table in (tool if isinstance(tool, Mapping) else {}).items():
        found[f"table:tool.{name}"] = line_of(text, f"[tool.{name}")
        for inner in table if isinstance(table, Mapping) else ():
            found[f"table:tool.{name}.{inner}"] = line_of(text, f"[tool.{name}.{inner}")
    poetry = _at(document, "tool", "poetry")
    places = [
        _at(document, "project", "dependencies"),
        _at(document, "project", "optional-dependencies"),
        _at(document, "dependency-groups"),
        _at(document, "tool", "uv", "dev-dependencies"),
        _at(document, "tool", "pdm", "dev-dependencies"),
        *(
            [poetry.get(key) for key in ("dependencies", "dev-dependencies", "group")]
            if isinstance(poetry, Mapping)
            else []
        ),
        _at(document, "dev-dependencies"),
        _at(document, "dev-packages"),
        _at(document, "packages"),
        _at(document, "dependencies"),
    ]
    for place in places:
        for name in _names(place, 0):
            found.setdefault(f"dep:{name}", _line_of_requirement(text, name))
    return found


def _line_of_requirement(text: str, name: str) -> int:
    """The line that asks for a package, and not the first one that names it."""
    quoted = re.escape(name)
    hit = re.search(rf"[\"']{quoted}(?=[\s\"'<>=!~;@\[,])|^{quoted}\s*=", text, re.IGNORECASE | re.MULTILINE)
    return text.count("\n", 0, hit.start()) + 1 if hit else line_of(text, name)


def _names(value: object, depth: int) -> list[str]:
    """Names of dependencies in lists of requirements and in tables, nested as tools nest them."""
    if depth > 4:
        return []
    if isinstance(value, str):
        hit = _NAME.match(value.strip())
        return [hit.group(0).lower()] if hit else []
    if isinstance(value, list):
        return [name for item in value[:500] for name in _names(item, depth + 1)]
    if isinstance(value, Mapping):
        keys = [str(key).lower() for key in value]
        inner = [
            name for item in value.values() if not isinstance(item, str) for name in _names(item, depth + 1)
        ]
        return keys + inner
    return []


def _json(text: str) -> tuple[str, dict[str, tuple[str, int]], dict[str, int]]:
    document = msgspec.json.decode(text.encode(), type=dict[str, object])
    scripts = {}
    listed = document.get("scripts")
    for name, body in (listed if isinstance(listed, Mapping) else {}).items():
        if isinstance(name, str) and isinstance(body, str):
            line = line_of(text, '"scripts"', f'"{name}":') or line_of(text, '"scripts"', f'"{name}"')
            scripts[name] = (body, line)
        elif isinstance(name, str) and isinstance(body, list):  # composer
            scripts[name] = (" && ".join(str(part) for part in body), line_of(text, '"scripts"', f'"{name}"'))
    signs: dict[str, int] = {}
    for key in ("dependencies", "devDependencies", "peerDependencies", "require", "require-dev"):
        table = document.get(key)
        for name in table if isinstance(table, Mapping) else ():
            signs[f"dep:{name}"] = line_of(text, f'"{key}"', f'"{name}"')
    for key in ("jest", "ava", "mocha", "eslintConfig", "prettier", "workspaces"):
        if key in document:
            signs[f"table:{key}"] = line_of(text, f'"{key}"')
    return _text(document.get("name")), scripts, signs


def _ini_signs(text: str) -> dict[str, int]:
    parser = RawConfigParser(strict=False)
    parser.read_string(text)
    found = {}
    for section in parser.sections():
        found[f"table:{section}"] = line_of(text, f"[{section}]")
    return found


def tox_commands(text: str) -> list[tuple[str, int]]:
    """What tox starts in its usual environment, where that can be started without it; with the lines."""
    parser = RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except IniError:
        return []
    whole = parser.get("testenv", "commands", fallback="").replace("\\\n", " ")
    runs = [
        re.sub(r"\{posargs:?([^{}]*)\}", r"\1", line).strip().removeprefix("- ")
        for line in whole.splitlines()
    ]
    plain = [run for run in runs if run and "{" not in run]
    return [(run, line_of(text, "[testenv]", run) or line_of(text, "[testenv]")) for run in plain]


def _find_requirements(text: str) -> dict[str, int]:
    """Tools named as requirements in a file that is not parsed further."""
    known = {
        word.removeprefix("dep:")
        for row in toolchains().languages["python"].rows
        for word in row.signs.split()
        if word[:4] == "dep:"
    }
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines()[:2000], 1):
        for hit in _NAME.finditer(line[:200]):
            if hit.group(0).lower() in known:
                found.setdefault(f"dep:{hit.group(0).lower()}", number)
    return found


def make_targets(text: str) -> dict[str, tuple[str, int]]:
    """Targets of a Makefile with their recipes, prerequisites' recipes before them. Nothing is expanded."""
    own: dict[str, tuple[list[str], list[str], int]] = {}
    current: list[str] = []
    values = _variables(text)
    for number, line in enumerate(text.splitlines()[:5000], 1):
        if line.startswith("\t"):
            raw = line.strip()
            recipe = _expand_variables(raw.lstrip("@-+ "), values)
            if "-" in raw[: len(raw) - len(raw.lstrip("@-+ "))]:
                recipe = f"({recipe} || true)"  # make goes on when it fails
            for name in current if recipe and not recipe.startswith("#") else ():
                own[name][1].append(recipe)
            continue
        hit = re.match(r"^([A-Za-z0-9_][\w .-]*?)\s*::?(?!=)\s*([^=#;]*)(?:;(.*))?(?:#.*)?$", line)
        if line.strip() and not line.startswith(("#", " ")):
            current = []
        if hit:
            current = hit.group(1).split()
            for name in current:
                own.setdefault(name, ([], [], number))
                own[name][0].extend(hit.group(2).split())
                if hit.group(3):
                    own[name][1].append(hit.group(3).strip())
    return {name: (" && ".join(_recipe(name, own, set())), own[name][2]) for name in own}


def _variables(text: str) -> dict[str, str]:
    """What a Makefile sets; a name that another file may set stays a word of its own."""
    values: dict[str, str] = {}
    for name, sign, value in _ASSIGNED.findall(text.replace("\\\n", " ")):
        values[name] = f"{values.get(name, '')} {value}" if sign == "+" else value
    if re.search(r"^\s*-?s?include\s", text, re.MULTILINE):
        values = {name: name for name in re.findall(r"\$[({](\w+)[)}]", text)} | values
    return values


def _expand_variables(recipe: str, values: Mapping[str, str]) -> str:
    """Make's plain variables filled in, with nothing where nobody sets them, as make does; functions stay."""
    recipe = _SAYING.sub("", recipe)
    first = re.match(r"\$[({](\w+)[)}]", recipe)
    if first and not values.get(first.group(1), _IMPLIED.get(first.group(1), "")).strip():
        return f": {first.group(1)} is not defined"
    for _ in range(3):
        recipe = re.sub(
            r"(?<!\$)\$[({](\w+)[)}]",
            lambda hit: values.get(hit.group(1), _IMPLIED.get(hit.group(1), "")).strip(),
            recipe,
        )
    return re.sub(
        r"\s+", " ", recipe.replace("$$", "$").replace("$@", "target").replace("$<", "source")
    ).strip()


def _recipe(name: str, own: Mapping[str, tuple[list[str], list[str], int]], seen: set[str]) -> list[str]:
    if name not in own or name in seen:
        return []
    seen.add(name)
    before = [part for other in own[name][0] for part in _recipe(other, own, seen)]
    return before + own[name][1]


def just_recipes(text: str) -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    name = ""
    for number, line in enumerate(text.splitlines()[:5000], 1):
        if line[:1] in (" ", "\t") and name:
            body, at = found[name]
            found[name] = (f"{body} && {line.strip().lstrip('@-')}".removeprefix(" && "), at)
            continue
        hit = re.match(r"^@?([A-Za-z_][\w-]*)[^:=]*:(?!=)", line)
        name = hit.group(1) if hit else ""
        if name:
            found[name] = ("", number)
    return found


def _at(document: object, *keys: str) -> object:
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _text(value: object) -> str:
    return value[:100] if isinstance(value, str) else ""
