"""Python's functions, wrapped by a decorator of our own; the file's own line ends its loading."""

from __future__ import annotations

import ast

from ralph.gates.guards._breaks.break_function import LINE, changed_functions

# Executed at the top of each wrapped file, before its own code could replace what is used here.
_HELPER = '''
import functools, inspect, os, posix, sys
AT, MODE, ACTIVE, COUNT = %(marks)r, %(mode)r, [], [0]
LIBRARY, APART = os.path.dirname(os.__file__), ("multiprocessing", "site-packages", "dist-packages")
_open, _write, _close = os.open, os.write, os.close
class BrokenOnPurpose(BaseException):
    pass
FILES = sys.__dict__.setdefault("_files_broken_on_purpose", set())
FILES.add(os.sep + %(path)r)
def mark(text):
    COUNT[0] += 1
    if COUNT[0] > 400:
        return
    try:
        fd = _open(AT, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        _write(fd, (text + "\\n").encode())
        _close(fd)
    except OSError:
        pass
def loading():
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
def ended(real, code):
    def end(*words, **named):
        # Who asks: code of the change, or the library on its behalf; a script may end itself.
        caller = sys._getframe(1).f_code.co_filename if sys._getframe().f_back else LIBRARY
        library = caller.startswith(LIBRARY) and not any(part in caller for part in APART)
        success = code is None or (words[0] if words else named.get("status", 0)) == 0
        if success and (library or any(caller.endswith(path) for path in FILES)):
            mark("x " + (ACTIVE[0] if ACTIVE else "outside of a function"))
        return real(*words, **named)
    end.ends = True
    return end
for where in (os, posix):
    for name in ("_exit", "execv", "execve"):
        real = getattr(where, name, None)
        if real is not None and not hasattr(real, "ends"):
            setattr(where, name, ended(real, 0 if name == "_exit" else None))
class Foreign:
    """Equals nothing else and can do nothing."""
def given(result, name):
    if MODE not in ("foreign", "valued") or result is None or name[:2] == "__":
        return result
    mark("i")
    if MODE == "valued":
        raise BrokenOnPurpose(name + " is broken on purpose")
    if isinstance(result, bool):
        return not result
    return Foreign()
def failed(name, error):
    mark("o")
    if MODE not in ("trace", "foreign", "valued"):
        raise BrokenOnPurpose(name + " is broken on purpose") from None
    if error is not None:
        raise error
def passes(error, function):
    """An end of the process that a function asked for stays one, unless it is the program itself."""
    if not isinstance(error, SystemExit) or function.__globals__.get("__name__") == "__main__":
        return False
    if error.code in (None, 0) and function.__name__ not in ("main", "_main", "cli", "run", "app"):
        mark("x " + function.__name__)
    return True
def broken(function):
    name = function.__name__
    def enter():
        if MODE not in ("foreign", "valued"):
            mark("i " + name)
        if MODE == "instead":
            failed(name, None)
        ACTIVE.append(name)
    def leave(error):
        if ACTIVE:
            ACTIVE.pop()
        if error is not None and passes(error, function):
            raise error
        failed(name, error)
    if inspect.isasyncgenfunction(function):
        async def around(*words, **named):
            enter()
            error = None
            try:
                async for item in function(*words, **named):
                    yield item
            except (Exception, SystemExit) as caught:
                error = caught
            leave(error)
    elif inspect.iscoroutinefunction(function):
        async def around(*words, **named):
            enter()
            error = result = None
            try:
                result = await function(*words, **named)
            except (Exception, SystemExit) as caught:
                error = caught
            leave(error)
            return given(result, name)
    elif inspect.isgeneratorfunction(function):
        def around(*words, **named):
            enter()
            error = result = None
            try:
                result = yield from function(*words, **named)
            except (Exception, SystemExit) as caught:
                error = caught
            leave(error)
            return result
    else:
        def around(*words, **named):
            if loading():
                return function(*words, **named)
            enter()
            error = result = None
            try:
                result = function(*words, **named)
            except (Exception, SystemExit) as caught:
                error = caught
            leave(error)
            return given(result, name)
    return functools.wraps(function)(around)
def end_of_module():
    mark("i")
    failed("the module", None)
'''
_NAME = "__broken_on_purpose__"


def wrap(path: str, old: bytes | None, new: bytes, mode: str, marks: str) -> dict[str, bytes]:
    text = new.decode("utf-8-sig")
    tree = ast.parse(text)
    lines = LINE.findall(text)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    helper = f"exec({_HELPER % {'marks': marks, 'mode': mode, 'path': path}!r}, {_NAME} := {{}})\n"
    if mode == "module":
        lines.append(f"{_NAME}['end_of_module']()\n")
    else:
        chosen = [node for _, node in changed_functions(old, tree)]
        if not chosen and mode != "trace":
            return {}
        for node in sorted(chosen, key=lambda one: -one.lineno):
            lead = lines[node.lineno - 1][: node.col_offset]
            if not lead.strip():  # else it shares its line with something: left as it is
                lines.insert(node.lineno - 1, f"{lead}@{_NAME}['broken']\n")
    lines.insert(first_free_line(tree), helper)
    made = "".join(lines)
    ast.parse(made)
    return {path: made.encode()}


def first_free_line(tree: ast.Module) -> int:
    """How many lines stay above: a docstring, imports of the future, comments such as the coding."""
    above = 0
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and above == 0
        if not text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            marks = getattr(node, "decorator_list", [])
            return above or min([node.lineno, *(mark.lineno for mark in marks)]) - 1
        above = node.end_lineno or node.lineno
    return above
