"""A clock some weeks ahead, in Python and Node processes: what is right for some days only shows.

No file and no other program follows: their times stay as they are. Python's own types are changed in place,
so that nothing becomes an instance of another class.
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
    import time

    now, now_ns, real = time.time, time.time_ns, time.clock_gettime
    past = now() + seconds / 2
    later = datetime.timedelta(seconds=seconds)
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + seconds * 10**9
    time.clock_gettime = lambda which: real(which) + (seconds if which == time.CLOCK_REALTIME else 0)

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
    get: (target, name) => (name === 'now' ? shifted : Reflect.get(target, name)),
  });
  Real.prototype.constructor = Later;
  globalThis.Date = Later;
}
"""


def python_clock() -> str:
    return start_module(_PYTHON, f"_set_clock({DAYS * 86400})")


def node_clock() -> str:
    return _NODE.replace("SECONDS", str(DAYS * 86400))
