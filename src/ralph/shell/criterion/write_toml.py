"""The text of ralph.toml: a reason beside each line, what is already there kept as it is.

Gates are only ever added. The text is parsed again before anybody sees it, so that what is written means
what was meant.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping

import msgspec

from ralph.core.criterion.gates_for_project import Planned
from ralph.core.criterion.proposal import Trial, why_missing
from ralph.errors import Bug, UserError
from ralph.shell.config.schema import quote_text
from ralph.shell.criterion.init_plan import InitPlan

NAME = "ralph.toml"
_HEAD = """\
# Written by `ralph init`; every line may be changed or removed (`ralph config show --origin`).
# Levels: minimal = lint; default = lint, format, types; full = build and tests too; security.
"""


def read_old(top: str) -> str:
    """What stands in ralph.toml now; "" when there is none."""
    path = os.path.join(top, NAME)
    if os.path.islink(path):
        raise UserError(
            f"'{path}' is a link",
            code="E-INIT-LINK",
            at=path,
            why="Ralph writes no file through a link",
            next=f"ls -l {NAME}",
        )
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(1_000_000)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"'{path}' cannot be read", code="E-INIT-READ", at=path, why=str(error), next=f"ls -l {NAME}"
        ) from error


def without_known(plan: InitPlan, old: str) -> InitPlan:
    """The plan without the gates that the file has already."""
    try:
        gates = tomllib.loads(old).get("gates", {})
    except tomllib.TOMLDecodeError:
        return plan
    fresh = tuple(one for one in plan.gates if one.name not in gates and not _same(one, gates))
    return msgspec.structs.replace(plan, gates=fresh)


def render(plan: InitPlan, trials: Mapping[str, Trial], old: str) -> str:
    """The new text: the old one, with settings before it and gates after it that it does not have."""
    try:
        known = tomllib.loads(old)
    except tomllib.TOMLDecodeError as error:
        raise UserError(
            f"'{NAME}' is not TOML: {error}",
            code="E-INIT-TOML",
            at=NAME,
            why="it is left as it is",
            next="ralph config show",
        ) from error
    gates = known.get("gates", {})
    fresh = [one for one in plan.gates if one.name not in gates and not _same(one, gates)]
    top = [] if old else [_HEAD]
    if plan.setup and "setup" not in known:
        top.append(f"setup = {quote_text(plan.setup)}  # {plan.setup_why}\n")
    if plan.share and "share" not in known:
        listed = ", ".join(quote_text(path) for path in plan.share)
        top.append(f"share = [{listed}]  # {plan.share_why}\n")
    blocks = [_gate(one, trials.get(one.name)) for one in fresh]
    middle = old if not old or old.endswith("\n") else old + "\n"
    text = "".join(top) + middle + "".join(f"\n{block}" for block in blocks)
    _check(text, fresh, trials)
    return text


def _same(one: Planned, gates: object) -> bool:
    tables = gates.values() if isinstance(gates, dict) else ()
    return any(isinstance(table, dict) and table.get("run") == one.run for table in tables)


def usable(one: Planned, trial: Trial | None) -> bool:
    """May this gate be active? One that could not be judged here would stop every loop."""
    if not one.resolved:
        return False
    return trial is None or trial.status in ("pass", "fail") or trial.cause in ("no-tests", "all-skipped")


def _gate(one: Planned, trial: Trial | None) -> str:
    lines = [f"[gates.{one.name}]  # {one.level}", f"run = {quote_text(one.run)}  # {_plain(one.why)}"]
    if one.executes:
        lines.insert(1, f"# its script: {_plain(one.executes)}")
    if one.cwd != ".":
        lines.append(f"cwd = {quote_text(one.cwd)}")
    if one.network:
        lines.append("network = true  # it cannot do without")
    red = trial is not None and trial.status == "fail" and one.kind in ("lint", "format")
    if not one.required or red:
        why = "red now: advisory until it is clean" if red else "neither documents nor CI ask for it"
        lines.append(f"required = false  # {why}")
    said = f"# tried: {trial.status}, {_plain(trial.summary)}" if trial else "# not tried"
    if usable(one, trial):
        return "\n".join([said, *lines]) + "\n"
    why = f"# not usable here: {_plain(trial.summary if trial else why_missing(one.run, one.hint))}"
    return "\n".join([why, *(f"# {line}" for line in lines)]) + "\n"


def _plain(text: str) -> str:
    """For a comment: one line, nothing that could end it."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:200]


def _check(text: str, fresh: list[Planned], trials: Mapping[str, Trial]) -> None:
    try:
        gates = tomllib.loads(text).get("gates", {})
    except tomllib.TOMLDecodeError as error:
        raise Bug(f"the text for {NAME} is not TOML: {error}") from error
    for one in fresh:
        if usable(one, trials.get(one.name)) and gates.get(one.name, {}).get("run") != one.run:
            raise Bug(f"the text for {NAME} does not say what gate {one.name} is")
