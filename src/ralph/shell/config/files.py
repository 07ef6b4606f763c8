"""From files, variables and flags to layers: flat keys with checked values and their origins.

Everything wrong is collected as a `Problem`, never raised one by one. Which layer wins is decided in
`layers`. Files from a repository are hostile: bounded, opened without blocking, never outside the
repository, and parsed only after `scan` has seen how deep they nest.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Mapping

import msgspec

from ralph.shell.config import values
from ralph.shell.config.scan import MAX_DEPTH, Map, scan
from ralph.shell.config.schema import BY_KEY, ENV, FLAGS, NAMED, OPTIONS, PREFIXES, escape_invisible, pattern
from ralph.shell.config.settings import ConfigProblem, LayerName, Option, Origin, ProjectFile, SettingEntry

MAX_BYTES = 1_000_000
PYPROJECT_TABLE = ("tool", "ralph")

Layer = dict[str, SettingEntry]


class ConfigSource(msgspec.Struct, frozen=True):
    """One parsed file: which layer it is, how it is named on screens, and where its keys stand."""

    layer: LayerName
    words: str
    map: Map
    table: tuple[str, ...] = ()

    def where(self, path: tuple[str, ...]) -> str:
        return f"{self.words}:{self.map.line(self.table + path)}"


def user_layer(user_dir: str, problems: list[ConfigProblem]) -> Layer:
    """The user's own config.toml. It counts as approved, so nobody else may be able to write it."""
    path = os.path.join(user_dir, "config.toml")
    data = _read(path, escape_invisible(path), problems, private=True)
    found = _parse(data, escape_invisible(path), problems) if data is not None else None
    if found is None:
        return {}
    document, place = found
    return _flatten(document, ConfigSource("user", escape_invisible(path), place), problems)


def project_layer(cwd: str, top: str, problems: list[ConfigProblem]) -> tuple[Layer, ProjectFile | None]:
    """The nearest ralph.toml or [tool.ralph] from the folder where ralph was called up to the top."""
    top = os.path.realpath(top)
    folder = os.path.realpath(cwd)
    if folder != top and not folder.startswith(top.rstrip("/") + "/"):
        folder = top
    while True:
        found = _in_folder(folder, top, cwd, problems)
        if found is not None or folder == top:
            break
        folder = os.path.dirname(folder)
    if found is None:
        return {}, None
    layer, file = found
    return _anchor_paths(layer, posixpath.dirname(file.path)), file


def _in_folder(
    folder: str, top: str, cwd: str, problems: list[ConfigProblem]
) -> tuple[Layer, ProjectFile] | None:
    found: list[tuple[Layer, ProjectFile]] = []
    for name, table in (("ralph.toml", ()), ("pyproject.toml", PYPROJECT_TABLE)):
        path = os.path.join(folder, name)
        words = escape_invisible(os.path.relpath(path, os.path.realpath(cwd)))
        data = _read(path, words, problems, inside=top)
        if data is None or (table and b"ralph" not in data):  # most pyproject.toml are not parsed at all
            continue
        parsed = _parse(data, words, problems)
        own = _table_of(parsed[0], table) if parsed else None
        if parsed is None or own is None:
            continue
        source = ConfigSource("project", words, parsed[1], table)
        if not isinstance(own, Mapping):
            text = f"tool.ralph = {values.show_bad_value(own)}: expected a table [tool.ralph]"
            problems.append(ConfigProblem(source.where(()), text))
            continue
        layer = _flatten(own, source, problems)
        inner = os.path.relpath(path, top)
        if not values.encodable(inner):  # it becomes part of gates' folders, which are sealed as text
            problems.append(ConfigProblem(words, "is in a folder whose name is not valid UTF-8"))
            continue
        found.append((layer, ProjectFile(inner, words, hash_layer(layer), table)))
        if len(found) > 1:
            text = "[tool.ralph] and a ralph.toml are in the same folder: expected only one of the two"
            problems.append(ConfigProblem(source.where(()), text))
    return found[0] if found else None


def _table_of(document: Mapping[str, object], table: tuple[str, ...]) -> object:
    own: object = document
    for part in table:
        own = own.get(part) if isinstance(own, Mapping) else None
    return own


def hash_layer(layer: Layer) -> str:
    """A hash of what a file says, whatever its comments, order and line ends."""
    from hashlib import sha256

    said = {key: entry.value for key, entry in layer.items()}
    return sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()


def hash_file_bytes(data: bytes, table: tuple[str, ...]) -> str | None:
    """The same hash for a file's bytes from elsewhere (the base commit); None when it says nothing valid."""
    problems: list[ConfigProblem] = []
    parsed = _parse(data, "", problems) if len(data) <= MAX_BYTES else None
    own = _table_of(parsed[0], table) if parsed else None
    if parsed is None or not isinstance(own, Mapping):
        return None
    layer = _flatten(own, ConfigSource("project", "", parsed[1], table), problems)
    return None if problems else hash_layer(layer)


def _read(
    path: str, words: str, problems: list[ConfigProblem], *, inside: str = "", private: bool = False
) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO must not hang us
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problems.append(
            ConfigProblem(words, f"cannot be read: {(error.strerror or 'unknown error').lower()}")
        )
        return None
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            problem = "is not a regular file"
        elif inside and not os.path.realpath(path).startswith(inside.rstrip("/") + "/"):
            problem = "is a link that leads out of the repository"
        elif private and state.st_mode & stat.S_IWOTH:
            problem = "can be written by everybody: expected mode 0644 or stricter"
        elif state.st_size > MAX_BYTES:
            problem = f"is larger than {MAX_BYTES} bytes"
        else:
            with os.fdopen(os.dup(handle), "rb") as file:
                return file.read(MAX_BYTES)
    finally:
        os.close(handle)
    problems.append(ConfigProblem(words, problem))
    return None


def _parse(data: bytes, words: str, problems: list[ConfigProblem]) -> tuple[dict[str, object], Map] | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.append(ConfigProblem(f"{words}:{line}", "not valid UTF-8"))
        return None
    place = scan(text)
    if place.depth > MAX_DEPTH:
        problems.append(ConfigProblem(words, f"nests deeper than {MAX_DEPTH} levels"))
        return None
    import tomllib  # only who has a file pays for the parser

    try:
        return tomllib.loads(text), place
    except (ValueError, RecursionError) as error:
        # ValueError is also what Python says of a number with too many digits.
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line_words = f"{words}:{found[1]}" if found else words
        reason = escape_invisible(re.sub(r" \(at [^)]*\)", "", str(error)))[:120]
        problems.append(ConfigProblem(line_words, f"not valid TOML: {reason[:1].lower()}{reason[1:]}"))
        return None


def _flatten(document: Mapping[str, object], source: ConfigSource, problems: list[ConfigProblem]) -> Layer:
    layer: Layer = {}
    _walk(document, (), source, layer, problems)
    for name in dict.fromkeys(key.split(".")[1] for key in layer if key.startswith("gates.")):
        if f"gates.{name}.run" not in layer:
            text = f'gate "{name}" has no command: expected run = "…"'
            problems.append(ConfigProblem(source.where(("gates", name)), text))
    return layer


def _walk(
    table: Mapping[str, object],
    above: tuple[str, ...],
    source: ConfigSource,
    layer: Layer,
    problems: list[ConfigProblem],
) -> None:
    for key, raw in table.items():
        path = (*above, key)
        shape, words, where = pattern(path), escape_invisible(".".join(path)), source.where(path)
        if "." in key or "*" in key:
            problems.append(ConfigProblem(where, f"unknown key {values.show_bad_value(key)}"))
        elif option := BY_KEY.get(shape):
            try:
                layer[words] = SettingEntry(values.parse(option, raw), Origin(source.layer, where))
            except ValueError as error:
                problems.append(
                    ConfigProblem(where, f"{words} = {values.show_bad_value(raw)}: expected {error}")
                )
        elif shape not in PREFIXES:
            problems.append(
                ConfigProblem(
                    where, f"unknown key {values.show_bad_value(words)}{_did_you_mean(path, problems)}"
                )
            )
        elif not isinstance(raw, Mapping):
            problems.append(
                ConfigProblem(where, f"{words} = {values.show_bad_value(raw)}: expected a table [{words}]")
            )
        elif len(path) == 2 and above[0] in NAMED and not values.NAME.fullmatch(key):
            problems.append(
                ConfigProblem(where, f"{values.show_bad_value(words)}: expected {values.NAME_WORDS}")
            )
        else:
            _walk(raw, path, source, layer, problems)


def _did_you_mean(path: tuple[str, ...], problems: list[ConfigProblem]) -> str:
    if len(problems) > 20:  # a file of a hundred thousand slips gets no hundred thousand hints
        return ""
    from difflib import get_close_matches

    key, above = path[-1].replace("-", "_"), pattern((*path[:-1], "-")).removesuffix("-")
    named = [
        option.key for option in OPTIONS if option.env and key in (option.key.split(".")[-1], _bare(option))
    ]
    if named:
        return f': did you mean "{named[0]}"?'
    beside = {known[len(above) :].split(".")[0] for known in BY_KEY if known.startswith(above)} - {"*"}
    close = get_close_matches(key[:60], sorted(beside), n=1)
    return f': did you mean "{".".join((*path[:-1], close[0]))}"?' if close else ""


def _bare(option: Option) -> str:
    return option.flag.removeprefix("--").replace("-", "_")


def _anchor_paths(layer: Layer, folder: str) -> Layer:
    """Paths in a file are meant from its own folder; from here on they are from the repository's top."""
    anchored: Layer = {}
    for key, entry in layer.items():
        if folder and key.startswith("gates."):
            anchored.setdefault(f"gates.{key.split('.')[1]}.cwd", SettingEntry(folder, entry.origin))
    for key, entry in layer.items():
        kind = BY_KEY[pattern(tuple(key.split(".")))].kind
        value = entry.value
        if kind == "inner" and isinstance(value, str) and value:
            value = posixpath.normpath(posixpath.join(folder, value))
        elif kind in ("inners", "dirs") and isinstance(value, tuple):
            value = tuple(
                posixpath.normpath(posixpath.join(folder, part)) if not part.startswith("~") else part
                for part in value
            )
        anchored[key] = SettingEntry(value, entry.origin)
    return anchored


def environment_layer(env: Mapping[str, str], problems: list[ConfigProblem], warnings: list[str]) -> Layer:
    layer: Layer = {}
    for name in sorted(env):
        option = ENV.get(name)
        if option is None:
            if name.startswith("RALPH_"):
                warnings.extend(_misspelt(name, env))
        elif env[name]:
            try:
                layer[option.key] = SettingEntry(
                    values.parse_text(option, env[name]), Origin("environment", name)
                )
            except ValueError as error:
                problems.append(
                    ConfigProblem(name, f"{values.show_bad_value(env[name])} is not valid: expected {error}")
                )
    return layer


def _misspelt(name: str, env: Mapping[str, str]) -> Iterable[str]:
    """Other RALPH_ variables exist (state directory, loop id), so only near misses are worth a word."""
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(set(ENV) - set(env)), n=1, cutoff=0.9)
    if close:
        shown = escape_invisible(name)
        yield f'environment variable {shown} is not known and has no effect: did you mean "{close[0]}"?'


def flag_layer(flags: Mapping[str, object], problems: list[ConfigProblem]) -> Layer:
    """What the user typed, by key (`limits.time`) or by flag (`--max-time`); None = not given."""
    layer: Layer = {}
    for name, raw in flags.items():
        option = FLAGS.get(name) or BY_KEY[name]
        words = option.flag or option.key
        if raw is None or raw == ():
            continue
        try:
            if isinstance(raw, str):
                value = values.parse_text(option, raw)
            elif isinstance(raw, list | tuple):
                value = values.parse_words(option, [str(part) for part in raw])
            else:
                value = values.parse(option, raw)
            layer[option.key] = SettingEntry(value, Origin("flag", words))
        except ValueError as error:
            problems.append(
                ConfigProblem(words, f"{values.show_bad_value(raw)} is not valid: expected {error}")
            )
    return layer
