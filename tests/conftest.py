"""For all tests: no example is judged by the clock, and nothing of the user's environment is inherited."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ralph", deadline=None)
settings.load_profile("ralph")

KEPT = "RALPH_AGENTS_CACHE"  # where `make agents` has put the CLIs
for name in [name for name in os.environ if name.startswith("RALPH_") and name != KEPT]:
    del os.environ[name]
