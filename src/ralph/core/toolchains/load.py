"""What Ralph knows of languages and their tools: the TOML files beside this module, read once, when asked.

One file a language; a file that is added is read. `[tool.NAME]` says all there is to say of one program: what
its commands are for, how it is installed, how people name it, when it judges nothing (`rows` lists it all).
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.toolchains.rows import (
    CanaryRow,
    CommandWords,
    Kind,
    Language,
    Name,
    RunnerRow,
    ToolchainFile,
    ToolRow,
    UsualCheck,
)


class ToolRunner(Struct, frozen=True, kw_only=True):
    """A runner or checker whose results are read one by one."""

    name: str
    program: str
    reader: str
    family: str
    row: RunnerRow
    canary: CanaryRow | None = None


class ToolPaths(Struct, frozen=True, kw_only=True):
    """What paths tell, in whatever language."""

    configs: re.Pattern[str]
    hijacks: re.Pattern[str]
    cache_folders: re.Pattern[str]
    cache_files: re.Pattern[str]
    settings: tuple[str, ...]


class Toolchains(Struct, frozen=True, kw_only=True):
    """All files together, with what is asked of them often worked out."""

    tools: dict[str, ToolRow]  # by program
    names: dict[str, str]  # other name of a program -> program
    kinds: dict[str, Kind]  # programs, by either name, that are one kind of check
    families: dict[str, str]  # tool, as `classify_command` calls it -> language
    languages: dict[str, Language]  # by the name of the package
    runners: dict[str, ToolRunner]  # by the name that gates have for it
    runners_of: dict[str, tuple[ToolRunner, ...]]  # by program
    runner_parts: dict[str, tuple[str, ...]]  # by language
    common: tuple[UsualCheck, ...]  # for every repository, whatever its language
    named_tools: tuple[Name, ...]
    named_languages: tuple[Name, ...]
    examples: dict[tuple[str, str], str]
    packagers: frozenset[str]
    taskers: frozenset[str]
    launchers: dict[str, str]
    test_words: tuple[str, ...]  # tools whose bare name means the tests
    paths: ToolPaths
    words: CommandWords
    options: dict[str, frozenset[str]]  # what options do -> the options
    setup: re.Pattern[str]
    fetches: re.Pattern[str]
    scripts: tuple[tuple[re.Pattern[str], str], ...]
    deeds: tuple[tuple[re.Pattern[str], str], ...]
    veiled: frozenset[str]  # deeds behind which a check may be

    def name_of(self, word: str) -> str:
        """A program as its row calls it."""
        name = word.rsplit("/", 1)[-1]
        return self.names.get(name, name)

    def family_of(self, tool: str) -> str:
        return self.families.get(tool) or self.families.get(tool.replace(":", " ").split(" ", 1)[0], "")


@cache
def toolchains() -> Toolchains:
    here = sorted((one.name, one) for one in files(__package__).iterdir() if one.name.endswith(".toml"))
    found = {name.removesuffix(".toml"): _read(name, one.read_text(encoding="utf-8")) for name, one in here}
    rows = [(file, name, tool) for file, one in found.items() for name, tool in one.tool.items()]
    tools = {name: tool for _, name, tool in rows}
    words = next(one.words for one in found.values() if one.words)
    names = {other: name for name, tool in tools.items() for other in tool.aka}
    named = tuple(
        _name(row, _family(file), words.pieces, name, tool) for file, name, tool in rows for row in tool.named
    )
    usual = [(file, replace(row, tool=row.tool or name)) for file, name, tool in rows for row in tool.checks]
    programs = {
        name: tuple(_runner(row, file, name, tool) for row in tool.runner) for file, name, tool in rows
    }
    return Toolchains(
        tools=tools,
        names=names,
        kinds={name: tool.kind for name in (*tools, *names) if (tool := tools[names.get(name, name)]).kind},
        families={name: _family(file) for file, name, _ in rows}
        | {name: one.family for one in named for name in one.tools},
        languages={
            language.name: _language(language, file, usual)
            for file, one in found.items()
            for language in one.package
        },
        runners={one.name: one for own in programs.values() for one in own},
        runners_of=programs,
        runner_parts={file: one.runner_parts for file, one in found.items()},
        common=tuple(row for file, row in usual if not _family(file)),
        named_tools=named,
        named_languages=tuple(
            _name(row, _family(file), words.pieces) for file, one in found.items() for row in one.named
        ),
        examples={(file, kind): run for file, one in found.items() for kind, run in one.examples.items()},
        packagers=frozenset(name for name, tool in tools.items() if tool.role == "packager"),
        taskers=frozenset(name for name, tool in tools.items() if tool.role == "tasker"),
        launchers={name: tool.launches for name, tool in tools.items() if tool.launches},
        test_words=tuple(one.says.lower() for one in named if one.tests),
        paths=_paths(list(found.values())),
        words=words,
        options={does: frozenset(text.split()) for does, text in words.options.items()},
        setup=re.compile(f"^(?:{'|'.join(words.setup)})"),
        fetches=re.compile("|".join(words.fetches)),
        scripts=tuple((re.compile(row.pattern), row.says) for row in words.scripts),
        deeds=tuple((re.compile(row.pattern), row.says) for row in words.deeds),
        veiled=frozenset(row.says for row in words.deeds if row.veiled),
    )


def _paths(found: list[ToolchainFile]) -> ToolPaths:
    def any_of(around: str, name: str) -> re.Pattern[str]:
        return re.compile(
            around.replace("{}", "|".join(one for file in found for one in getattr(file, name)))
        )

    return ToolPaths(
        configs=any_of(r"(?:^|/)(?:{})\Z", "configs"),
        hijacks=any_of("{}", "hijacks"),
        cache_folders=any_of("(?:^|/)(?:{})(?=/)", "cache_folders"),
        cache_files=any_of(r"(?:^|/)(?:{})\Z", "cache_files"),
        settings=tuple(one for file in found for one in file.settings),
    )


def _family(file: str) -> str:
    return "" if file == "any" else file


def _runner(row: RunnerRow, file: str, name: str, tool: ToolRow) -> ToolRunner:
    own = row.name or name
    canary = tool.canary
    if canary and not canary.mark:
        canary = replace(canary, mark=rf"[\"']{name}[\"']")
    return ToolRunner(
        name=own, program=name, reader=row.reader or own, family=_family(file), row=row, canary=canary
    )


def _language(language: Language, file: str, usual: list[tuple[str, UsualCheck]]) -> Language:
    own = tuple(row for of, row in usual if of == file and row.package in ("", language.name))
    return replace(language, family=file, rows=own)


def _read(name: str, text: str) -> ToolchainFile:
    try:
        return msgspec.convert(tomllib.loads(text), ToolchainFile)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{name}: {error}") from error


def _name(row: Name, family: str, pieces: dict[str, str], of: str = "", tool: ToolRow = ToolRow()) -> Name:  # noqa: B008
    """A row with what it leaves out: a tool is named as it is called, and checked as usual."""
    low = row.says.lower()
    kind = row.kind or tool.kind
    words = row.words or f"(?i:{low})"
    for piece, text in pieces.items():
        words = words.replace(f"<{piece}>", text)
    usual = next((check.run for check in tool.checks if check.kind == kind), of)
    return replace(
        row,
        words=words,
        kind=kind,
        tools=row.tools or (frozenset({low}) if of else frozenset()),
        family=family,
        check=row.check or usual,
        install=row.install or (tool.install if not row.holds else ""),
        near=row.near or (low,),
    )
