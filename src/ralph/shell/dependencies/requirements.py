"""What the files of a tree ask to be installed: each requirement by itself, not the bytes of its file.

A requirement stands in a group: "" is what everybody installs, others (an extra, development, one file of
requirements) only who asked for them. What cannot be taken apart is `rest`, where every byte counts.
Whether something is installed is told in `installed`.
"""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
import tomllib
from collections.abc import Callable, Mapping

import msgspec

PINS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
OPAQUE = (
    *("pnpm-lock.yaml", "bun.lock", "bun.lockb", "Pipfile.lock", "Cargo.lock", "go.sum", "Gemfile.lock"),
    *("composer.lock", "mix.lock"),
)
_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;#]*?)\s*(?:;\s*([^#]*?)\s*)?(?:\s#.*)?")
# Folders whose requirements.txt is for those who build them, and not for everybody.
_ASIDE = re.compile(r"(?:^|/)(?:docs?|documentation|examples?|website|benchmarks?|\.[^/]+)/")
_YARN = re.compile(r'^"?(@?[^@\s"]+)@[^\n]*:\n((?:  [^\n]*(?:\n|\Z))+)', re.MULTILINE)
_YARN_FIELD = re.compile(r'^  (version|resolved|integrity) "?([^"\n]+)"?$', re.MULTILINE)
_HASH = re.compile(r"\s--hash[= ]\s*(\S+)")
# Where a lockfile says that a package comes from, and what its files hash to; by uv, poetry, pdm and pylock.
_ORIGIN = (
    *("source", "sdist", "wheels", "files", "archive", "vcs", "directory", "index"),
    *("url", "git", "ref", "revision", "path", "editable"),
)
_POETRY_ORIGIN = ("git", "url", "path", "file", "source", "branch", "tag", "rev", "subdirectory")
_SETUP_LISTS = {"install_requires": "", "setup_requires": "setup", "tests_require": "test"}
_SETUP_WORDS = {*_SETUP_LISTS, "extras_require", "entry_points", "python_requires"}


class Want(msgspec.Struct, frozen=True, order=True):
    """One requirement."""

    kind: str  # pip, npm, pinned (npm, at a path), python, script, build (of no matter to what is installed)
    name: str
    spec: str = ""
    group: str = ""
    marker: str = ""
    source: str = ""  # where it comes from and what it hashes to, as far as its file says


class Requirements(msgspec.Struct, frozen=True):
    """What one file asks for."""

    wants: frozenset[Want] = frozenset()
    rest: str = ""

    def fingerprint(self) -> str:
        return msgspec.json.encode([sorted(self.wants), self.rest]).decode()


def requirements_in(path: str, digest: str, read: Callable[[], bytes | None]) -> Requirements | None:
    """What a file asks for; None for one that decides nothing of what is installed."""
    name = posixpath.basename(path)
    parse = _reader(path, name)
    if parse is None:
        return Requirements(rest=digest) if name in OPAQUE else None
    try:
        return parse((read() or b"").decode("utf-8"))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError, configparser.Error):
        return Requirements(rest=digest)


def _reader(path: str, name: str) -> Callable[[str], Requirements] | None:
    if name.startswith(("requirements", "constraints")) and name.endswith((".txt", ".in")):
        group = "" if name == "requirements.txt" and not _ASIDE.search(path) else name
        return lambda text: _requirements_txt(text, group)
    if name in PINS:
        return _pins
    return _READERS.get(name)


def pip_want(text: str, group: str = "") -> Want:
    match = _NAME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a requirement: {text}")
    spec = "".join(match[2].split())
    return Want("pip", plain(match[1]), spec, group, match[3] or "", spec if spec.startswith("@") else "")


def plain(name: str) -> str:
    """The name of a Python distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _requirements_txt(text: str, group: str) -> Requirements:
    wants, rest = set(), []
    for written in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", written)
        said = _HASH.sub("", line).strip()
        if said.startswith("-") or "://" in said:
            rest.append(said)
        elif said:
            hashes = " ".join(sorted(_HASH.findall(line)))
            wants.add(msgspec.structs.replace(pip_want(said, group), source=hashes))
    return Requirements(frozenset(wants), "\n".join(sorted(rest)))


def _pins(text: str) -> Requirements:
    data = tomllib.loads(text)
    packages = data.get("package", data.get("packages", []))
    # Much of it is for other systems and extras, and not installed; what is there must be right.
    hashes = _table(_table(data.get("metadata")).get("files"))  # of all packages, in old files of poetry
    wants = set()
    for one in packages:
        spec = f"=={one['version']}" if "version" in one else ""
        source = _origin({"files": hashes.get(one["name"]), **one}, _ORIGIN)
        wants.add(Want("pip", plain(one["name"]), spec, "lock", source=source))
    return Requirements(frozenset(wants))


def _origin(one: Mapping[str, object], keys: tuple[str, ...]) -> str:
    found = {key: _lasting(one[key]) for key in keys if one.get(key)}
    return _words(found) if found else ""


def _lasting(value: object) -> object:
    """Without the order of files, and what tools add to them later."""
    if isinstance(value, dict):
        return {key: _lasting(one) for key, one in value.items() if key not in ("size", "upload-time")}
    return sorted(_words(_lasting(one)) for one in value) if isinstance(value, list) else value


def _pyproject(text: str) -> Requirements:
    data = tomllib.loads(text)
    project, tool = data.get("project", {}), data.get("tool", {})
    poetry = tool.get("poetry", {})
    wants = {pip_want(one) for one in project.get("dependencies", [])}
    for group, listed in {
        **project.get("optional-dependencies", {}),
        **data.get("dependency-groups", {}),
    }.items():
        wants |= {pip_want(one, group) for one in listed if isinstance(one, str)}
    groups = {"": poetry.get("dependencies", {}), "dev": poetry.get("dev-dependencies", {})}
    groups |= {name: one.get("dependencies", {}) for name, one in poetry.get("group", {}).items()}
    wants |= {
        _poetry_want(name, spec, group) for group, table in groups.items() for name, spec in table.items()
    }
    if "requires-python" in project:
        wants.add(Want("python", "python", project["requires-python"]))
    scripts = {**project.get("scripts", {}), **project.get("gui-scripts", {}), **poetry.get("scripts", {})}
    wants |= {Want("script", name, str(target)) for name, target in scripts.items()}
    wants.add(
        Want("build", "", _words([data.get("build-system"), project.get("name"), poetry.get("extras")]))
    )
    rest = [project.get("entry-points"), poetry.get("plugins"), tool.get("uv"), tool.get("pdm")]
    return Requirements(frozenset(wants), _words(rest) if any(rest) else "")


def _poetry_want(name: str, spec: object, group: str) -> Want:
    said = spec.get("version", _words(spec)) if isinstance(spec, dict) else spec
    if isinstance(spec, dict) and spec.get("optional"):
        group = group or "optional"
    # Poetry's carets are npm's; the name of the kind says who compares them.
    kind = "python" if name == "python" else "pip"
    origin = _origin(spec, _POETRY_ORIGIN) if isinstance(spec, dict) else ""
    listed = _words(spec) if isinstance(spec, list) else ""
    return Want(kind, plain(name), f"poetry {said}", group, source=origin or listed)


def _words(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _setup_cfg(text: str) -> Requirements:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    table = {name: dict(parser.items(name)) for name in parser.sections()}
    options = table.get("options", {})
    kwargs: dict[str, object] = {key: _lines(options.get(key, "")) for key in _SETUP_LISTS}
    kwargs["python_requires"] = options.get("python_requires", "")
    kwargs["extras_require"] = {
        group: _lines(text) for group, text in table.get("options.extras_require", {}).items()
    }
    kwargs["entry_points"] = {
        group: _lines(text) for group, text in table.get("options.entry_points", {}).items()
    }
    return _setuptools(kwargs)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _setup_py(text: str) -> Requirements:
    """By the literal arguments of `setup()`; where one is computed, by the program that does it."""
    module = ast.parse(text)
    calls = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup"
    ]
    names = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if len(calls) != 1 or calls[0].args or any(word.arg is None for word in calls[0].keywords):
        return Requirements(rest=ast.dump(module))
    # A setup command may compile; that concerns whoever has one.
    build = Want("build", "", ast.dump(module))
    kwargs, computed = dict[str, object](), list[ast.keyword]()
    for word in calls[0].keywords:
        if word.arg in _SETUP_WORDS:
            value = names.get(word.value.id, word.value) if isinstance(word.value, ast.Name) else word.value
            try:
                kwargs[word.arg] = ast.literal_eval(value)
            except ValueError:
                computed.append(word)
    return Requirements(_setuptools(kwargs).wants | {build}, _program(module, calls[0], computed))


def _program(module: ast.Module, call: ast.Call, computed: list[ast.keyword]) -> str:
    """What makes these arguments: they themselves, and the statements whose names they use."""
    call.keywords = []
    parts: dict[str, None] = {ast.dump(word): None for word in computed}
    names = {node.id for word in computed for node in ast.walk(word) if isinstance(node, ast.Name)}
    while True:
        before = len(parts)
        for statement in module.body if computed else ():
            if names & _bound_names(statement):
                parts[ast.dump(statement)] = None
                names |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if len(parts) == before:
            return "\n".join(sorted(parts))


def _bound_names(statement: ast.stmt) -> set[str]:
    """What a statement defines, imports, assigns or may change."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).partition(".")[0] for one in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    parts = list(ast.walk(statement))
    changed = [node.value for node in parts if isinstance(node, ast.Attribute | ast.Subscript)]
    bound = [node for node in parts if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {node.id for node in (*changed, *bound) if isinstance(node, ast.Name)}


def _setuptools(kwargs: Mapping[str, object]) -> Requirements:
    wants: set[Want] = set()
    for key, group in _SETUP_LISTS.items():
        wants |= {pip_want(one, group) for one in _strings(kwargs.get(key))}
    for table_key in ("extras_require", "entry_points"):
        table = kwargs.get(table_key) or {}
        if not isinstance(table, dict):
            return Requirements(rest=_words(sorted(map(str, kwargs.items()))))
        for group, listed in table.items():
            if table_key == "extras_require":
                name, _, marker = str(group).partition(":")
                wants |= {pip_want(f"{one}; {marker}" if marker else one, name) for one in _strings(listed)}
            else:
                wants |= {_script(str(group), one) for one in _strings(listed)}
    if kwargs.get("python_requires"):
        wants.add(Want("python", "python", str(kwargs["python_requires"])))
    return Requirements(frozenset(wants))


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return _lines(value)
    if isinstance(value, list | tuple | set):
        return [str(one) for one in value]
    if value is None:
        return []
    raise ValueError("not a list of requirements")


def _script(group: str, line: str) -> Want:
    name, _, target = line.partition("=")
    return Want("script", f"{group}:{name.strip()}", target.strip())


def _package(text: str) -> Requirements:
    data = msgspec.json.decode(text, type=dict[str, object])
    groups = {"dependencies": "", "devDependencies": "dev", "optionalDependencies": "optional"}
    wants = {
        Want("npm", name, str(spec), group, source=str(spec) if re.search("[:/]", str(spec)) else "")
        for key, group in groups.items()
        for name, spec in _table(data.get(key)).items()
    }
    wants.add(Want("build", "", _words([data.get("packageManager"), data.get("engines")])))
    rest = {key: data[key] for key in ("overrides", "resolutions", "workspaces") if data.get(key)}
    return Requirements(frozenset(wants), _words(rest) if rest else "")


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _package_lock(text: str) -> Requirements:
    packages = msgspec.json.decode(text, type=dict[str, object])["packages"]
    wants = {
        Want(
            "pinned",
            path,
            str(one.get("version", "")),
            "lock",
            source=_origin(one, ("name", "resolved", "integrity", "link")),
        )
        for path, one in _table(packages).items()
        if path and isinstance(one, dict)
    }
    return Requirements(frozenset(wants))


def _yarn(text: str) -> Requirements:
    found = _YARN.findall(text)
    if not found or "__metadata" in text:
        raise ValueError("not a lockfile of yarn 1")
    wants = set()
    for name, body in found:
        said = dict(_YARN_FIELD.findall(body))
        source = _origin(said, ("resolved", "integrity"))
        wants.add(Want("npm", name, said["version"], "lock", source=source))
    return Requirements(frozenset(wants))


_READERS: dict[str, Callable[[str], Requirements]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "setup.py": _setup_py,
    "package.json": _package,
    "package-lock.json": _package_lock,
    "npm-shrinkwrap.json": _package_lock,
    "yarn.lock": _yarn,
}
