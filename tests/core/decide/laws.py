"""All lines of the law, from the module of each part."""

from __future__ import annotations

import law_after_judging
import law_asked
import law_endings
import law_faults
import law_joined_gates
import law_judge
import law_landing
import law_machine
import law_no_verdict
import law_plan
import law_stints
import law_team

# Lines that name every field which changes; the tests beside the other laws try their own lines.
EXACT = [
    *law_machine.ROWS,
    *law_faults.ROWS,
    *law_asked.ROWS,
    *law_landing.ROWS,
    *law_stints.ROWS,
    *law_team.ROWS,
]
# Lines that name only what matters in them.
NAMED = [*law_after_judging.ROWS, *law_endings.ROWS]
ROWS = [*EXACT, *NAMED, *law_judge.ROWS, *law_no_verdict.ROWS, *law_joined_gates.ROWS, *law_plan.ROWS]
