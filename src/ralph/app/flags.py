"""Which settings are flags of a command line, with their words and defaults. Light: `--help` needs it."""

from ralph.shell.config.layers import FLAGS as PROFILE_FLAGS
from ralph.shell.config.schema import FLAGS, format_value

__all__ = ["FLAGS", "PROFILE_FLAGS", "format_value"]
