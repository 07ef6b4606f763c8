"""The settings that count somewhere, and the user's word on what a repository brings."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph.clock import SystemClock
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.config import Approval, SettingRow, Settings, approvals, edit
from ralph.shell.config.schema import BY_KEY
from ralph.shell.git.project import find_project
from ralph.shell.journal.selection import project_top
from ralph.shell.state.directory import config_dir

__all__ = ["Approval", "SettingRow", "Settings"]


def user_settings(env: Mapping[str, str], cwd: str) -> Settings:
    """The user's own, without those of a project."""
    return config.load(cwd=cwd, top=None, env=env, flags={}, user_dir=config_dir(env))


def project_settings(env: Mapping[str, str], cwd: str, top: str | None = None) -> Settings:
    """What counts in the project around `cwd`, or at `top`; what nobody approved is left out."""
    folder = config_dir(env)
    trust = approvals.trust_check(folder)
    return config.load(cwd=cwd, top=top or project_top(cwd), env=env, flags={}, user_dir=folder, trust=trust)


def settings_at_top(env: Mapping[str, str], cwd: str) -> Settings:
    """The same for the top of the repository around `cwd`."""
    top = find_project(cwd).top
    return project_settings(env, top, top)


def settings_to_resume(env: Mapping[str, str], repo: str) -> Settings:
    """What counts for one more stint: what the loop itself obeys was sealed when it began."""
    try:
        return config.load(cwd=repo, top=repo, env=env, flags={}, user_dir=config_dir(env))
    except UserError:  # of the project's file since then: a loop that began goes on without it
        return user_settings(env, os.getcwd())


def terminal_notices(env: Mapping[str, str]) -> tuple[bool, bool]:
    """Does this user want to hear the bell, and to see the loop in the terminal's title?"""
    try:
        notify = user_settings(env, os.sep).notify
    except UserError:  # whoever needs the settings says what is wrong with them
        return True, True
    return notify.bell, notify.title


def user_config_path(env: Mapping[str, str]) -> str:
    return edit.config_path(config_dir(env))


def preset_values(name: str) -> Mapping[str, str]:
    return edit.PRESETS[name]


def set_user_values(values: Mapping[str, str], env: Mapping[str, str]) -> str:
    """Write these into the user's own file; its path."""
    return edit.set_values(config_dir(env), values)


def reset_user_values(keys: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Take these out of the user's own file, or everything; its path."""
    return edit.reset_keys(config_dir(env), keys)


def setting_rows(settings: Settings) -> tuple[SettingRow, ...]:
    """Each setting with its value and where it came from."""
    return config.rows(settings)


def required_gates(env: Mapping[str, str], cwd: str) -> dict[str, str]:
    """Required gates of the project's configuration: a loop without a check takes them.

    They are only shown; a loop that wants to execute them asks for approval itself.
    """
    repo = project_top(cwd)
    if repo is None:
        return {}
    user = config_dir(env)
    settings = config.load(cwd=cwd, top=repo, env=env, flags={}, user_dir=user, trust=lambda _: True)
    return {name: gate.run for name, gate in settings.gates.items() if gate.required and not gate.hidden}


def limits_in_config(typed: dict[str, object], env: Mapping[str, str], cwd: str) -> dict[str, float]:
    """What somebody has set in a file, a profile or a variable, by flag. The built-in limits are nobody's."""
    settings = config.load(cwd=cwd, top=find_project(cwd).top, env=env, flags=typed, user_dir=config_dir(env))
    known = ((option.flag, key) for key in config.explicit_limits(settings) if (option := BY_KEY[key]).flag)
    values = ((flag, getattr(settings.limits, key.removeprefix("limits."))) for flag, key in known)
    return {flag: float(value) for flag, value in values if value is not None}


def approve(digest: str, env: Mapping[str, str]) -> Approval:
    """The user agrees to what was shown under this hash, from now on."""
    return approvals.approve(config_dir(env), digest, SystemClock().now())


def is_approved(digest: str, env: Mapping[str, str]) -> bool:
    return approvals.is_approved(config_dir(env), digest)


def approval_lines(approval: Approval) -> tuple[str, ...]:
    """Every item that is agreed to."""
    return approvals.summary_lines(approval)


def list_approvals(env: Mapping[str, str]) -> tuple[approvals.StoredApproval, ...]:
    """What was approved, and what waits for it."""
    return approvals.list_approvals(config_dir(env))


def remember(approval: Approval, env: Mapping[str, str]) -> None:
    """Keep what was shown, so that its hash can be approved later."""
    approvals.remember(config_dir(env), approval, SystemClock().now())


def approval_needed(settings: Settings) -> Approval | None:
    """What these settings hold that waits for the user's word."""
    return approvals.approval_needed(settings)
