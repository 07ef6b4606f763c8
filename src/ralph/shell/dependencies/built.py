"""Dependencies beside a tree: the user's own folders, or what their `setup` command builds.

Folders of the user are right only while the lockfiles are the base's. With a `setup` command they are built
instead, boxed like a gate, with network and without credentials, once for each state of the lockfiles. What
the base asks for is kept for all loops (`<state>/deps`). What a changed lockfile asks for is built by the
base's scripts (`setup_tree`); an agent chose it, so it stays in its loop's folder, and neither the baseline
nor another loop ever sees it.
Which files are lockfiles is in `shared`, how folders are mounted in `bubblewrap`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable

import msgspec

from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import is_missing
from ralph.shell.dependencies import shared
from ralph.shell.dependencies.run_setup import run_setup
from ralph.shell.dependencies.setup_tree import setup_tree
from ralph.shell.files.safe_tree import remove_except, remove_tree
from ralph.shell.files.write_whole import write_whole
from ralph.shell.git.checkout import Submodule, fresh_checkout
from ralph.shell.ports import Activity, Attention
from ralph.shell.process import client
from ralph.shell.sandbox.bubblewrap import SharedMount
from ralph.shell.sandbox.site import Site

POLL_SECONDS = 0.1
MADE = "made.json"  # written last: a place without it is half of one


class Deps:
    """What is shared with the calls of one stint. Places in use are locked until the process ends."""

    def __init__(self, site: Site, modules: tuple[Submodule, ...]) -> None:
        self._site, self._modules = site, modules
        self._known: dict[str, tuple[SharedMount, ...] | Reading] = {}
        self._held: dict[str, int] = {}
        self._share = site.order.box.share

    def add(self, paths: tuple[str, ...]) -> None:
        """Share these of the user's files too, from now on."""
        self._share = tuple(dict.fromkeys((*self._share, *paths)))
        self._known.clear()

    def has(self, path: str) -> bool:
        return path in self._share

    def shares(self, tree: str, attend: Attention) -> tuple[SharedMount, ...] | Reading | None:
        """Folders to stand beside `tree`, or why there can be none; None when asked to drop it."""
        if tree not in self._known:
            found = self._find(tree, attend)
            if found is None or (isinstance(found, Reading) and is_missing(found)):
                return found  # the machine's doing is nothing to remember
            self._known[tree] = found
        return self._known[tree]

    def _find(self, tree: str, attend: Attention) -> tuple[SharedMount, ...] | Reading | None:
        order, store = self._site.order, self._site.store
        if not order.box.setup and not self._share:
            return ()
        base = order.base.tree or tree
        if why := shared.why_unfit(store, base, tree, self._share, setup=bool(order.box.setup)):
            return Reading("error", why, cause="missing")
        if order.box.setup:
            changed = shared.lockfiles_changed(store, base, tree)
            asks = setup_tree(store, base, tree, changed) if changed else base
            made = self._find_build(asks, attend, own=bool(changed))
            if not isinstance(made, tuple):
                return made
            there = {mount.at for mount in made}
            files = [path for path in self._share if os.path.isfile(os.path.join(order.repo, path))]
            return (*made, *(one for one in self._user_mounts(files) if one.at not in there))
        return self._user_mounts(self._share)

    def _user_mounts(self, paths: Iterable[str]) -> tuple[SharedMount, ...]:
        users = [os.path.join(self._site.order.repo, path) for path in paths]
        if self._site.boxed:
            return tuple(SharedMount(path, path) for path in users)
        return tuple(SharedMount(self._copy_of(path), path) for path in users)

    def _copy_of(self, path: str) -> str:
        """Without a box nothing keeps a check from writing to what is the user's, so it gets a copy of it."""
        copy = os.path.join(
            self._site.folder, "deps", "copy-" + hashlib.sha256(path.encode()).hexdigest()[:16]
        )
        if not os.path.lexists(copy):
            remove_tree(f"{copy}.new")
            if os.path.isdir(path):
                shutil.copytree(path, f"{copy}.new", symlinks=True)
            else:
                os.makedirs(os.path.dirname(copy), mode=0o700, exist_ok=True)
                shutil.copy2(path, f"{copy}.new", follow_symlinks=False)
            os.rename(f"{copy}.new", copy)
        return copy

    def _find_build(
        self, tree: str, attend: Attention, *, own: bool
    ) -> tuple[SharedMount, ...] | Reading | None:
        site = self._site
        top = site.folder if own else site.state.root
        place = os.path.join(top, "deps", self._key(tree))
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        if not self._hold(place, attend):
            return None
        made = os.path.join(place, MADE)
        if not os.path.exists(made):
            stands = self._build(place, tree, attend)
            if stands is not True:
                self._let_go(place)
                return stands or None
        os.utime(made)  # `ralph clean` goes by when it was last of use
        with open(made, "rb") as file:
            paths = msgspec.json.decode(file.read(), type=list[str])
        at = os.path.join(place, "at")
        return tuple(
            SharedMount(os.path.join(at, path), os.path.join(site.order.repo, path)) for path in paths
        )

    def _key(self, tree: str) -> str:
        """Names everything that a build depends on; paths, because environments hold absolute ones."""
        order = self._site.order
        locks = sorted(shared.lockfiles(self._site.store, tree).items())
        words = [
            1,
            order.repo,
            order.box.setup,
            order.box.setup_cwd,
            order.box.share,
            self._site.boxed,
            locks,
        ]
        return hashlib.sha256(msgspec.json.encode(words)).hexdigest()[:32]

    def _hold(self, place: str, attend: Attention) -> bool:
        """Wait for whoever builds there now; False when asked to drop it."""
        if place in self._held:
            return True
        fd = os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._held[place] = fd
        began = self._site.clock.monotonic()
        while True:
            # Shared by those who only use it; who finds it unfinished wants it alone.
            kind = fcntl.LOCK_SH if os.path.exists(os.path.join(place, MADE)) else fcntl.LOCK_EX
            try:
                fcntl.flock(fd, kind | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if attend(Activity("gate", ("setup",), self._site.clock.monotonic() - began)):
                    self._let_go(place)
                    return False
                self._site.clock.sleep(POLL_SECONDS)

    def _let_go(self, place: str) -> None:
        os.close(self._held.pop(place))

    def _build(self, place: str, tree: str, attend: Attention) -> Reading | bool:
        """True when it stands, False when asked to drop it, else why it does not stand."""
        folder = os.path.join(place, "call")
        if os.path.exists(os.path.join(folder, "spec.json")):
            client.recover_call(folder)  # of a runner that was killed: its tree is gone after this
        remove_tree(place)
        os.makedirs(place, mode=0o700)

        def check_out(at: str) -> None:
            index = os.path.join(place, "index")
            fresh_checkout(self._site.store, at, index, tree, modules=self._modules)

        stands = run_setup(self._site, folder, os.path.join(place, "at"), check_out, attend)
        if stands is True:
            self._keep(place, tree)
        return stands

    def _keep(self, place: str, tree: str) -> None:
        """Only the folders of dependencies stay, read from now on and never written again."""
        at = os.path.join(place, "at")
        paths = shared.built_folders(self._site.store, tree, at, self._site.order.box.share)
        for name in os.listdir(at):
            remove_except(at, name, paths)
        for part in ("call", "index"):
            remove_tree(os.path.join(place, part))
        write_whole(os.path.join(place, MADE), msgspec.json.encode(paths))
        fcntl.flock(self._held[place], fcntl.LOCK_SH)


def builds(root: str, now: float) -> list[tuple[str, float]]:
    """Each place below `<state>/deps`, and the seconds since it was last of use."""
    top = os.path.join(root, "deps")
    names = sorted(os.listdir(top)) if os.path.isdir(top) else []
    places = [os.path.join(top, name) for name in names if not name.endswith(".lock")]
    return [(place, now - _last_used(place)) for place in places]


def _last_used(place: str) -> float:
    made = os.path.join(place, MADE)
    return os.lstat(made if os.path.exists(made) else place).st_mtime


def discard(place: str) -> bool:
    """Removes a build, unless a loop is using it right now."""
    fd = os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(place)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True
