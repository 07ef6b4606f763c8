"""For all tests: no example is judged by the clock, and nothing of the user's environment is inherited."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ralph", deadline=None)
settings.load_profile("ralph")

for name in [name for name in os.environ if name.startswith("RALPH_")]:
    del os.environ[name]
