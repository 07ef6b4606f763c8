"""Which repositories a server serves: a program names folders and loops, and reaches no others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ralph.agents._kit.environ import enclosing_loop
from ralph.app.place import find_loop, project_of
from ralph.errors import UserError


class ServedProjects(Struct, frozen=True):
    tops: tuple[str, ...]  # work trees, the default one first
    default: str  # the folder that is meant when none is named

    def folder(self, text: str) -> str:
        """The folder that was named; it must be in a repository that is served, also by its real path."""
        if not text:
            return self.default
        real = os.path.realpath(text) if os.path.isabs(text) else ""
        if real and os.path.isdir(real) and project_of(real) in self.tops and "/.git/" not in f"{real}/":
            return real
        raise UserError(
            f"'{text}' is no folder of a repository that is served here",
            code="E-MCP-PROJECT",
            why=f"expected an absolute path inside: {', '.join(self.tops)}",
            next="ralph mcp --help",
        )

    def loop(self, text: str, env: Mapping[str, str]) -> str:
        """The loop that was named; those of other repositories are unknown here."""
        return find_loop(text, env, repos=self.tops)


def scope_of(paths: Iterable[str], cwd: str, env: Mapping[str, str]) -> ServedProjects:
    """The repositories around these folders, else the one around `cwd`. An agent in a loop gets none."""
    if outer := enclosing_loop(env):
        raise UserError(
            f"this is inside the loop '{outer}', and its agent has no say over loops",
            code="E-LOOP-NESTED",
            next="ralph status",
        )
    folders = [os.path.realpath(os.path.join(cwd, path)) for path in paths] or [os.path.realpath(cwd)]
    tops = [project_of(folder) if os.path.isdir(folder) else None for folder in folders]
    for folder, top in zip(folders, tops, strict=True):
        if top is None:
            raise UserError(
                f"'{folder}' is in no git repository",
                code="E-MCP-PROJECT",
                why="loops that a program starts belong to the repositories that you name",
                next="ralph mcp --help",
            )
    return ServedProjects(tuple(dict.fromkeys(filter(None, tops))), folders[0])
