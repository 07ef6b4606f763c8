"""Memory of Ralph's own processes: the runner, its nurse and its keepers, never the agent or the gates.

The sum of their resident sets, which counts shared pages twice and so errs on the high side. Looked at
every ten milliseconds while a loop runs.
"""

import os
import subprocess
import time
from collections.abc import Callable

from sample import Place

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
LOOK_SECONDS = 0.01
AIM = 60.0  # MB


def own_memory(runner: int) -> int:
    """Resident bytes of a runner, its nurse and its keepers."""
    helpers = _helpers(runner)
    keepers = [keeper for nurse in helpers for keeper in _helpers(nurse)]
    return sum(map(_resident, (runner, *helpers, *keepers)))


def _helpers(pid: int) -> list[int]:
    return [child for child in _children(pid) if _is_ours(child)]


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _is_ours(pid: int) -> bool:
    """A keeper or the nurse; not what a keeper keeps, nor git."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"ralph.shell." in file.read()
    except OSError:
        return False


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def open_files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and of the children that it has waited for: of a runner and its git."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:15])) / TICKS
    except (OSError, ValueError):
        return 0.0


def folder_size(top: str) -> int:
    """Bytes on disk, not counting the reserve that a state directory keeps for a full disk."""
    paths = (
        os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name != "reserve"
    )
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


def peak_of(
    argv: list[str], here: Place, look: Callable[[int, int], None] = lambda _pid, _bytes: None
) -> int:
    """Peak of a whole command; `look` is told each size, with the runner's process id."""
    peak = 0
    with subprocess.Popen(
        argv, cwd=here.repo, env=here.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        while child.poll() is None:
            size = own_memory(child.pid)
            peak = max(peak, size)
            look(child.pid, size)
            time.sleep(LOOK_SECONDS)
    return peak
