"""Who reads what in Node processes: a file of Ralph's own that Node requires first, at the base only.

It looks at `fs` and at how modules are resolved. Who asks is the innermost frame of the tree's own code; for
modules it is the one that imports. Loaders of others (jest, vitest) read files by `fs` under such a frame.
"""

from __future__ import annotations

import json

from ralph.gates.programs import program_text

MODULE = "reads.cjs"


def hook_text(root: str, out: str) -> str:
    """The file. `root`: where the tree stands for the gate; `out`: where its notes go."""
    return program_text("node_reads.js").replace("WATCHED", json.dumps([out, root.rstrip("/") + "/"]))
