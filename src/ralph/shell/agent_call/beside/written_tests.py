"""Of what a tester left: new test files, as a commit on top of the base, and nothing else.

Source, existing tests, settings and files by which a runner or a CLI would take orders are not taken, nor is
anything that is no plain file: what the tester says to the coder, it says in tests.
"""

from __future__ import annotations

from ralph.core.model.loop import Loop
from ralph.core.model.team.roles import SealedTests
from ralph.core.text.clean import one_line
from ralph.gates.judging_paths import is_ci, is_config, is_hijack, is_test
from ralph.shell.agent_call.beside.side_calls import is_instruction_file
from ralph.shell.git.checkout import Submodule
from ralph.shell.git.refs import RefChange, commit_tree, loop_ref, move_refs
from ralph.shell.git.snapshot import take_snapshot
from ralph.shell.git.store import Store
from ralph.shell.git.trees import TreeChange, TreeEntry, read_blob, tree_entries, write_entries
from ralph.shell.sandbox.site import Site

MAX_FILES, MAX_BYTES = 50, 200_000  # of the tester's tests, and of one of them
MAX_NAMED = 20
REGULAR = "100644"


def take_tests(site: Site, modules: tuple[Submodule, ...], loop: Loop, path: str) -> SealedTests:
    """What there is in the checkout at `path`, whatever else the tester did to it."""
    order, ground = site.order, loop.build.base or site.order.base
    links = tuple(module.path for module in modules)
    found = take_snapshot(
        site.store, path, path + ".taken", ground.tree, links=links, shared=loop.sealed.box.share
    )
    taken = [change for change in found.changes if _is_taken(site.store, found.tree, change)][:MAX_FILES]
    paths = {change.path for change in taken}
    others = sorted({change.path for change in found.changes} - paths)
    entries = tree_entries(site.store, ground.tree)
    tree = write_entries(
        site.store, entries | {change.path: TreeEntry(REGULAR, change.oid) for change in taken}
    )
    message = f"ralph: tests for {order.loop}, written before the work"
    commit = commit_tree(site.store, tree, [ground.commit], message, int(loop.last_work_at))
    ref = loop_ref(order.loop, f"tests/{loop.call.number}")
    move_refs(site.store.project, [RefChange(ref, commit, None)])
    return SealedTests(
        tree=tree,
        commit=commit,
        paths=tuple(sorted(paths)),
        left_out=tuple(one_line(other, 200) for other in others[:MAX_NAMED]),
    )


def _is_taken(store: Store, tree: str, change: TreeChange) -> bool:
    """A new plain file that is a test, and nothing that could decide what other tests say."""
    path = change.path
    if change.status != "A" or not change.mode.startswith("100") or not is_test(path):
        return False
    if is_config(path) or is_hijack(path) or is_ci(path) or is_instruction_file(path):
        return False
    text = read_blob(store, tree, path, MAX_BYTES + 1)
    return text is not None and 0 < len(text) <= MAX_BYTES and path.isprintable()
