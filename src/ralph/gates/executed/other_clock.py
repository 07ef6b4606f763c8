"""A clock some weeks ahead, in Python and Node processes: what is right for some days only shows.

No other program follows. In Python, files written meanwhile are told by the same clock, or an honest test of
their age would fail. Its own types are changed in place, so nothing becomes an instance of another class.
"""

from __future__ import annotations

from ralph.gates.executed.py_start import start_module

DAYS = 45
NODE_MODULE = "clock.cjs"
_PYTHON = """
def _set_clock(seconds):
    import ctypes
    import datetime
    import gc
    import os
    import time

    now, now_ns, real = time.time, time.time_ns, time.clock_gettime
    past = now() + seconds / 2
    later = datetime.timedelta(seconds=seconds)
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + seconds * 10**9
    time.clock_gettime = lambda which: real(which) + (seconds if which == time.CLOCK_REALTIME else 0)

    begun = now() - 2

    def of_file(look):
        def told(*a, **k):
            found = look(*a, **k)
            if not any(begun <= at < past for at in (found.st_atime, found.st_mtime, found.st_ctime)):
                return found
            moved = {}
            for name in ("st_atime", "st_mtime", "st_ctime"):
                at, at_ns = getattr(found, name), getattr(found, name + "_ns")
                new = begun <= at < past
                moved[name] = at + seconds if new else at
                moved[name + "_ns"] = at_ns + seconds * 10**9 if new else at_ns
            whole = tuple(int(moved[name]) for name in ("st_atime", "st_mtime", "st_ctime"))
            more = {name: getattr(found, name) for name in ("st_blksize", "st_blocks", "st_rdev")}
            return os.stat_result(tuple(found)[:7] + whole, {**more, **moved})
        return told

    for name in ("stat", "lstat", "fstat"):
        real_look = getattr(os, name)
        setattr(os, name, of_file(real_look))
        for able in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if real_look in able:
                able.add(getattr(os, name))

    def of_now(shown):
        return lambda at=None: shown(time.time() if at is None else at)

    strftime = time.strftime
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, of_now(getattr(time, name)))
    time.strftime = lambda form, *at: strftime(form, *(at or (time.localtime(),)))

    def move(owner, name):
        if owner.fromtimestamp(past) < getattr(owner, name)():
            return  # it asks `time`
        own = gc.get_referents(owner.__dict__)[0]
        before = own[name]
        own[name] = classmethod(lambda cls, *a, **k: before.__get__(None, cls)(*a, **k) + later)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))

    for owner, name in (
        (datetime.datetime, "now"), (datetime.datetime, "utcnow"), (datetime.datetime, "today"),
        (datetime.date, "today"),
    ):
        move(owner, name)
"""
_NODE = """'use strict';
{
  const Real = Date, now = Real.now, later = SECONDS * 1000, shifted = () => now.call(Real) + later;
  const Later = new Proxy(Real, {
    construct: (target, words, made) =>
      Reflect.construct(target, words.length ? words : [shifted()], made === Later ? target : made),
    apply: () => new Real(shifted()).toString(),
  });
  Real.now = shifted;
  Real.prototype.constructor = Later;
  globalThis.Date = Later;
}
"""


def python_clock() -> str:
    return start_module(_PYTHON, f"_set_clock({DAYS * 86400})")


def node_clock() -> str:
    return _NODE.replace("SECONDS", str(DAYS * 86400))
