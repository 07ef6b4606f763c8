"""Configuration: layers of files, variables and flags become one frozen `Settings` with origins.

`load` is the way in. The files are read once, when a loop starts, and sealed by `digest`; nothing here
executes anything. Approvals are stored by `ralph.shell.approvals`.
"""

from ralph.shell.config.layers import load, trust_nothing
from ralph.shell.config.limits import check_limits, explicit_limits
from ralph.shell.config.option import Option
from ralph.shell.config.schema import FLAGS, OPTIONS
from ralph.shell.config.settings import (
    AgentSpec,
    Approval,
    GateSpec,
    Item,
    Origin,
    ProfileSpec,
    ProjectFile,
    Settings,
)
from ralph.shell.config.show import Row, digest, project_note, rows

__all__ = [
    "FLAGS",
    "OPTIONS",
    "AgentSpec",
    "Approval",
    "GateSpec",
    "Item",
    "Option",
    "Origin",
    "ProfileSpec",
    "ProjectFile",
    "Row",
    "Settings",
    "check_limits",
    "digest",
    "explicit_limits",
    "load",
    "project_note",
    "rows",
    "trust_nothing",
]
