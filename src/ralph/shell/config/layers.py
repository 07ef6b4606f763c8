"""Which layer wins, what a repository may say, the built-in profiles, and the limits that must be there.

defaults < user < project < profile < environment < flags. A project tightens but never loosens: a value
beyond the user's is clamped with a warning, not an error, because a repository cannot know the limits of
everybody who clones it. What would execute something, or send something elsewhere, is left out until
the user approved exactly that; a caller who forgets to ask gets a loop without it, never one with it.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from ralph.core.model.parts import from_flat
from ralph.core.model.spend import Limits
from ralph.errors import UserError
from ralph.shell.config import files
from ralph.shell.config.ask import approval_of
from ralph.shell.config.files import Layer
from ralph.shell.config.grades import stricter_grades
from ralph.shell.config.schema import BY_KEY, LIMIT_KEYS, NAMED, OPTIONS, format_value, option_of
from ralph.shell.config.settings import (
    AgentSpec,
    ConfigProblem,
    GateSpec,
    Option,
    Origin,
    ProfileSpec,
    ProjectConfig,
    RoleSpec,
    SettingEntry,
    Settings,
    Value,
)

COST_KEYS = ("limits.cost", "limits.iteration_cost")
_MAX_SHOWN = 20  # problems that are listed one by one


def trust_nothing(_hash: str) -> bool:
    return False


def load(
    *,
    cwd: str,
    top: str | None,
    env: Mapping[str, str],
    flags: Mapping[str, object],
    user_dir: str,
    trust: Callable[[str], bool] = trust_nothing,
) -> Settings:
    """The effective settings, or one error that lists everything wrong in all layers.

    `top` is the repository's top folder (None outside of one), `flags` maps keys or flag names to what
    was typed, `trust` says whether the user approved a hash (see `ralph.shell.config.approvals`).
    """
    problems: list[ConfigProblem] = []
    warnings: list[str] = []
    user = files.user_layer(user_dir, problems)
    project, file = files.project_layer(cwd, top, problems) if top else ({}, None)
    environment = files.environment_layer(env, problems, warnings)
    typed = files.flag_layer(flags, problems)
    approval = approval_of(project, top or "")
    admitted = approval is None or (not problems and trust(approval.hash))

    entries: Layer = {
        option.key: SettingEntry(option.default, Origin("defaults", "built in"))
        for option in OPTIONS
        if "*" not in option.key
    }
    _put(entries, built_in_profiles())
    _put(entries, user)
    own = dict(entries)
    _put(entries, _permitted_layer(project, own, user, warnings, admitted=admitted))
    chosen = next((layer["profile"] for layer in (typed, environment, entries) if "profile" in layer), None)
    if chosen is not None and chosen.value:
        entries["profile"] = chosen
        _put(entries, _profile(chosen, entries, own, project, problems=problems, warnings=warnings))
    _put(entries, environment)
    _put(entries, typed)
    if problems:
        raise _error(problems)
    settings = _settings(_at_home(entries, env.get("HOME", "")))
    inside = os.path.dirname(file.path) or "." if file is not None else "."
    return msgspec.structs.replace(
        settings,
        box=msgspec.structs.replace(settings.box, setup_cwd=inside),
        warnings=tuple(warnings),
        project=ProjectConfig(file, approval, admitted),
    )


def _put(entries: Layer, layer: Layer) -> None:
    """Lay a layer over the others. A gate is replaced as a whole: half of one and half of another is none."""
    replaced = {key.split(".")[1] for key in layer if key.startswith("gates.")}
    for key in [key for key in entries if key.startswith("gates.") and key.split(".")[1] in replaced]:
        del entries[key]
    for key, entry in layer.items():
        below = entries.get(key)
        entries[key] = _join_entries(below, entry) if below is not None and option_of(key).union else entry


def _join_entries(below: SettingEntry, entry: SettingEntry) -> SettingEntry:
    value: Value = entry.value
    if isinstance(value, tuple) and isinstance(below.value, tuple):
        value = tuple(dict.fromkeys((*below.value, *value)))
    elif isinstance(value, dict) and isinstance(below.value, dict):
        value = below.value | value
    where = entry.origin.where if not below.value else f"{below.origin.where}, {entry.origin.where}"
    return SettingEntry(value, Origin(entry.origin.layer, where))


def _permitted_layer(
    project: Layer, own: Layer, user: Layer, warnings: list[str], *, admitted: bool
) -> Layer:
    """What of the project's layer counts, given what the user said and approved."""
    taken = {tuple(key.split(".")[:2]) for key in user if key.split(".")[0] in ("agents", "profiles")}
    ignored: set[tuple[str, ...]] = set()
    layer: Layer = {}
    for key, entry in project.items():
        option, name = option_of(key), tuple(key.split(".")[:2])
        if name in taken:
            if name not in ignored:
                warnings.append(f"{entry.origin.where}: [{'.'.join(name)}] is ignored: your own applies")
            ignored.add(name)
        elif option.project == "user":
            warnings.append(f"{entry.origin.where}: {key} is ignored: only your own config.toml sets it")
        elif option.project == "tighten":
            layer[key] = _tighten_entry(option, entry, own[key], warnings)
        elif option.project == "waive" and not admitted:
            ids = ", ".join(sorted(entry.value)) if isinstance(entry.value, dict) else ""
            warnings.append(
                f"{entry.origin.where}: waivers of this repository are not approved and do not count: {ids}"
            )
        elif option.project in ("approve", "waive") and not admitted:
            continue
        elif key.startswith("gates.") and key.endswith(".run") and key in user:
            warnings.append(f'{entry.origin.where}: gate "{name[1]}" replaces your own of that name')
            layer[key] = entry
        elif key in user and key in ("share", "setup"):
            layer[key] = _narrow_entry(key, entry, user[key], warnings)
        else:
            layer[key] = entry
    return layer


def _tighten_entry(
    option: Option, entry: SettingEntry, own: SettingEntry, warnings: list[str]
) -> SettingEntry:
    kept = own
    if option.kind == "grades":
        held = stricter_grades(str(entry.value), str(own.value))
        looser = held != entry.value
        kept = own if held == own.value else SettingEntry(held, entry.origin)
    elif option.choices:
        looser = option.choices.index(str(entry.value)) < option.choices.index(str(own.value))
    else:
        looser = _bound(entry.value) > _bound(own.value)
    if not looser:
        return entry
    asked, yours, holds = (format_value(option, one.value) for one in (entry, own, kept))
    how = f"{option.flag} {shlex.quote(asked)}" if option.flag else f"{option.key} in your own config.toml"
    warnings.append(
        f"{entry.origin.where}: {option.key} = {asked} is looser than your {yours}, so {holds} holds; "
        f"to allow it: {how}"
    )
    return kept


def _bound(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else math.inf


def _narrow_entry(key: str, entry: SettingEntry, own: SettingEntry, warnings: list[str]) -> SettingEntry:
    """The user's own list or command stands; a project may only ask for less of it."""
    if isinstance(entry.value, tuple) and isinstance(own.value, tuple):
        kept = tuple(part for part in entry.value if part in own.value)
        if kept == entry.value:
            return entry
        warnings.append(f"{entry.origin.where}: {key} asks for more than your own setting, which applies")
        return SettingEntry(kept, entry.origin)
    if entry.value != own.value:
        warnings.append(f"{entry.origin.where}: {key} is ignored: your own applies")
    return own


def _profile(
    chosen: SettingEntry,
    entries: Layer,
    own: Layer,
    project: Layer,
    *,
    problems: list[ConfigProblem],
    warnings: list[str],
) -> Layer:
    """The chosen profile as a layer of its own; limits that a repository wrote in it are the repository's."""
    prefix = f"profiles.{chosen.value}."
    fields = {key.removeprefix(prefix): entry for key, entry in entries.items() if key.startswith(prefix)}
    if not fields:
        # One that awaits approval is not a slip: whoever asks for the approval gets to it first.
        if not any(key.startswith(prefix) for key in project):
            known = sorted({key.split(".")[1] for key in entries if key.startswith("profiles.")})
            expected = f"one of {', '.join(known)}" if known else f"a table [profiles.{chosen.value}]"
            text = f'profile "{chosen.value}" is not defined: expected {expected}'
            problems.append(ConfigProblem(chosen.origin.where, text))
        return {}
    layer: Layer = {}
    for key, entry in fields.items():
        if key not in BY_KEY:
            continue  # its env has no plain key; `Settings.agent_env` reads it
        foreign = entry.origin.layer == "project" and key in LIMIT_KEYS
        kept = _tighten_entry(BY_KEY[key], entry, own[key], warnings) if foreign else entry
        layer[key] = SettingEntry(kept.value, Origin("profile", f"{chosen.value}, {kept.origin.where}"))
    return layer


def _at_home(entries: Layer, home: str) -> Layer:
    """~/x in a list of folders is the user's; resolved late, so that the hash is the same for everybody."""
    if not home:
        return entries
    resolved = dict(entries)
    for key, entry in entries.items():
        if option_of(key).kind in ("dirs", "texts") and isinstance(entry.value, tuple):
            paths = tuple(
                home + path[1:] if path == "~" or path.startswith("~/") else path for path in entry.value
            )
            resolved[key] = SettingEntry(paths, entry.origin)
    return resolved


def _settings(entries: Layer) -> Settings:
    tables: dict[str, dict[str, dict[str, Any]]] = {table: {} for table in NAMED}
    plain: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    roles: dict[str, dict[str, Any]] = {}
    for key, entry in entries.items():
        parts = key.split(".")
        if parts[0] in NAMED:
            fields = tables[parts[0]].setdefault(parts[1], {})
            fields = fields.setdefault("limits", {}) if parts[2] == "limits" else fields
            fields[parts[-1]] = entry.value
        elif parts[0] == "team" and len(parts) > 2:
            roles.setdefault(parts[1], {})[parts[2]] = entry.value
        elif parts[0] == "limits":
            limits[parts[1]] = entry.value
        else:
            plain[key.replace(".", "_")] = entry.value
    tables_of_roles = {role: RoleSpec(**fields) for role, fields in roles.items()}
    plain["team_tables"] = {role: one for role, one in tables_of_roles.items() if one != RoleSpec()}
    return msgspec.structs.replace(
        from_flat(Settings, plain),
        limits=Limits(**limits),
        gates={name: GateSpec(**fields) for name, fields in tables["gates"].items()},
        agents={name: AgentSpec(**fields) for name, fields in tables["agents"].items()},
        profiles={name: ProfileSpec(**fields) for name, fields in tables["profiles"].items()},
        origins={key: entry.origin for key, entry in entries.items()},
    )


def _error(problems: list[ConfigProblem]) -> UserError:
    number = len(problems)
    lines = [f"{problem.where}: {problem.text}" for problem in problems[:_MAX_SHOWN]]
    if number > _MAX_SHOWN:
        lines.append(f"and {number - _MAX_SHOWN} more")
    first = problems[0].where
    path, _, line = first.rpartition(":")
    if path and line.isdigit():
        following = f"${{EDITOR:-vi}} +{line} {shlex.quote(path)}"
    elif first.startswith("RALPH_"):
        following = f"unset {first}"
    elif first.startswith("--"):
        following = "ralph loop --help"
    else:
        following = f"ls -l {shlex.quote(first)}"
    what = "the configuration has a problem" if number == 1 else f"the configuration has {number} problems"
    return UserError(what, code="E-CONFIG", at=first, why="\n".join(lines), next=following)


def explicit_limits(settings: Settings) -> frozenset[str]:
    """Limits that somebody set, in whichever layer."""
    return frozenset(key for key in LIMIT_KEYS if settings.origins[key].layer != "defaults")


def check_limits(settings: Settings, explicit: AbstractSet[str], agent_reports_cost: bool) -> None:
    """Refuse a loop that nothing would end, and a cost limit that nobody could see being passed.

    `explicit` names the limits that were set on purpose (`explicit_limits`): a default that happens to
    hold is no answer to a user who asked for a bound on money.
    """
    limits = settings.limits
    seen_cost = limits.cost is not None and agent_reports_cost
    if limits.iterations is None:
        origin = settings.origins["limits.iterations"]
        if origin.layer != "flag":
            raise UserError(
                'limits.iterations = "unlimited" counts only as a flag: expected a number here',
                code="E-LIMITS",
                at=origin.where,
                why="a loop without a limit must be requested each time, with --max-iterations unlimited",
                next="ralph config show --origin",
            )
        if limits.time is None and not seen_cost:
            blind = limits.cost is not None
            raise UserError(
                "unlimited iterations need a time limit"
                + (" with this agent" if blind else " or a cost limit"),
                code="E-LIMITS",
                at=origin.where,
                why=("this agent does not report its cost" if blind else "nothing else would end this loop")
                + "; add --max-time 4h",
                next="ralph loop --help",
            )
    bounded = (limits.iterations is not None and "limits.iterations" in explicit) or (
        limits.time is not None and "limits.time" in explicit
    )
    asked = next((key for key in COST_KEYS if getattr(limits, key.removeprefix("limits.")) is not None), "")
    if asked and not agent_reports_cost and not bounded:
        raise UserError(
            "a cost limit cannot be enforced for this agent",
            code="E-LIMITS",
            at=settings.origins[asked].where,
            why="it does not report its cost; add --max-time 4h",
            next="ralph loop --help",
        )


def _compatible(
    url: str, key: str, large: str, small: str, price: tuple[float, float, float]
) -> dict[str, Value]:
    """Claude Code with another provider that speaks the same protocol."""
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "",  # the other provider's key must not go there
        "ANTHROPIC_DEFAULT_OPUS_MODEL": large,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": large,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": small,
        "API_TIMEOUT_MS": "3000000",
    }
    key_as = "ANTHROPIC_AUTH_TOKEN"
    # Claude Code counts what it costs by the prices of Claude's models.
    prices = dict(zip(("price_input", "price_cached", "price_output"), price, strict=True))
    return {
        "agent": "claude",
        "env": env,
        "key_from": key,
        "key_as": key_as,
        "limits.iterations": 30,
        **prices,
    }


BUILT_IN: dict[str, dict[str, Value]] = {
    "claude": {"agent": "claude", "limits.iterations": 15},
    "glm5": _compatible(
        "https://api.z.ai/api/anthropic", "ZAI_API_KEY", "glm-5", "glm-4.5-air", (1.0, 0.2, 3.2)
    ),
    "minimax": _compatible(
        "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "MiniMax-M2", "MiniMax-M2", (0.3, 0.03, 1.2)
    ),
}
# Flags that stand for a profile; the first is the one that is shown.
FLAGS: dict[str, tuple[str, ...]] = {"glm5": ("--with-glm5",), "minimax": ("--mmc", "--minimax")}


def built_in_profiles() -> dict[str, SettingEntry]:
    origin = Origin("defaults", "built in")
    return {
        f"profiles.{name}.{key}": SettingEntry(value, origin)
        for name, fields in BUILT_IN.items()
        for key, value in fields.items()
    }
