"""Configuration: layers of files, variables and flags become one frozen `Settings` with origins.

`load` is the way in. The files are read once, when a loop starts, and sealed by `digest`; nothing here
executes anything. Approvals are stored by `ralph.shell.config.approvals`.
"""

from ralph.shell.config.layers import check_limits, explicit_limits, load, trust_nothing
from ralph.shell.config.schema import FLAGS, OPTIONS
from ralph.shell.config.settings import (
    AgentSpec,
    Approval,
    AskedItem,
    GateSpec,
    Option,
    Origin,
    ProfileSpec,
    ProjectFile,
    RoleSpec,
    Settings,
)
from ralph.shell.config.show import SettingRow, digest, project_note, rows

__all__ = [
    "FLAGS",
    "OPTIONS",
    "AgentSpec",
    "Approval",
    "AskedItem",
    "GateSpec",
    "Option",
    "Origin",
    "ProfileSpec",
    "ProjectFile",
    "RoleSpec",
    "SettingRow",
    "Settings",
    "check_limits",
    "digest",
    "explicit_limits",
    "load",
    "project_note",
    "rows",
    "trust_nothing",
]
