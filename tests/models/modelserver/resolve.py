"""From intent to tool call: `write` becomes whatever the client at hand offers for writing.

Tools are chosen by name and their arguments by the names in the offered schema, so that a client that renames
one or the other is still driven by the same script.
"""

import json
import posixpath
import re
import shlex
from typing import Any

from modelserver.shapes import fill_object
from modelserver.talk import Ask, Call, Json, Tool

_WRITE = ("Write", "write_file", "write", "create", "create_file")
_EDIT = ("Edit", "replace", "edit", "edit_file", "str_replace")
_READ = ("Read", "read_file", "read", "view", "view_file")
_BASH = ("Bash", "bash", "run_shell_command", "exec_command", "shell", "shell_command", "execute_command")
_EDITORS = ("text_editor", "str_replace_editor", "str_replace_based_edit_tool")

_PATH = ("file_path", "filePath", "path", "absolute_path", "filename", "file")
_TEXT = ("content", "file_text", "contents", "text")
_OLD = ("old_string", "oldString", "old_str", "old_text", "before", "old")
_NEW = ("new_string", "newString", "new_str", "new_text", "after", "new")
_COMMAND = ("command", "cmd", "script")

MINI_MARK = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class NoTool(Exception):
    """The client offers nothing that could do this."""


def plain(name: str) -> str:
    """`developer__shell` and `functions.shell` are both `shell`."""
    return re.split(r"__|\.", name)[-1]


def find(ask: Ask, names: tuple[str, ...], form: str = "function") -> Tool | None:
    for wanted in names:
        for tool in ask.tools:
            if tool.form == form and plain(tool.name) == wanted:
                return tool
    return None


def _put(arguments: Json, tool: Tool, names: tuple[str, ...], value: Any) -> bool:
    for name in names:
        if name in tool.fields:
            arguments[name] = value
            return True
    return False


def _where(ask: Ask, path: str) -> str:
    return path if path.startswith("/") or not ask.cwd else posixpath.join(ask.cwd, path)


def _call(ask: Ask, tool: Tool, *pairs: tuple[tuple[str, ...], Any]) -> Call | None:
    """A call of `tool` with these arguments, or None when its schema has no place for one of them."""
    arguments = fill_object(tool.schema)
    for names, value in pairs:
        if not _put(arguments, tool, names, value):
            return None
    return Call(tool, arguments)


def _editor(ask: Ask, verbs: tuple[str, ...], *pairs: tuple[tuple[str, ...], Any]) -> Call | None:
    """One tool with sub-commands, as some clients have it."""
    tool = find(ask, _EDITORS)
    if tool is None:
        return None
    offered = tool.fields.get("command", {}).get("enum") or list(verbs)
    for verb in verbs:
        if verb in offered:
            made = _call(ask, tool, *pairs)
            if made and isinstance(made.arguments, dict):
                return Call(tool, {**made.arguments, "command": verb})
    return None


def bash(ask: Ask, command: str) -> Call:
    tool = find(ask, _BASH)
    if tool is not None:
        name = next((name for name in _COMMAND if name in tool.fields), "command")
        value: Any = command
        if tool.fields.get(name, {}).get("type") == "array":
            value = ["bash", "-lc", command]
        arguments = {**fill_object(tool.schema), name: value}
        return Call(tool, arguments)
    code = find(ask, ("exec",), "custom")
    if code is not None:
        script = f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}});\ntext(r.output);"
        return Call(code, script)
    raise NoTool("no tool runs a command")


def patch(ask: Ask, text: str) -> Call | None:
    """The free-form patch tool, or the same through the tool that runs code."""
    tool = find(ask, ("apply_patch",), "custom")
    if tool is not None:
        return Call(tool, text)
    function = find(ask, ("apply_patch",))
    if function is not None:
        name = next(iter(function.fields), "input")
        return Call(function, {name: text})
    code = find(ask, ("exec",), "custom")
    if code is not None:
        return Call(code, f"await tools.apply_patch({json.dumps(text)});\ntext('patched');")
    return None


def write(ask: Ask, path: str, text: str) -> Call:
    place = _where(ask, path)
    tool = find(ask, _WRITE)
    made = _call(ask, tool, (_PATH, place), (_TEXT, text)) if tool else None
    made = made or _editor(ask, ("write", "create"), (_PATH, place), (_TEXT, text))
    if made:
        return made
    body = "".join(f"+{line}\n" for line in text.splitlines())
    made = patch(ask, f"*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch\n")
    quoted = shlex.quote(path)
    return made or bash(ask, f'mkdir -p "$(dirname {quoted})" && printf %s {shlex.quote(text)} > {quoted}')


def edit(ask: Ask, path: str, old: str, new: str) -> Call:
    place = _where(ask, path)
    tool = find(ask, _EDIT)
    made = _call(ask, tool, (_PATH, place), (_OLD, old), (_NEW, new)) if tool else None
    made = made or _editor(ask, ("str_replace", "replace"), (_PATH, place), (_OLD, old), (_NEW, new))
    if made:
        return made
    lines = "".join(f"-{line}\n" for line in old.splitlines()) + "".join(
        f"+{line}\n" for line in new.splitlines()
    )
    made = patch(ask, f"*** Begin Patch\n*** Update File: {path}\n@@\n{lines}*** End Patch\n")
    if made:
        return made
    program = "import sys; p, a, b = sys.argv[1:]; t = open(p).read(); open(p, 'w').write(t.replace(a, b, 1))"
    return bash(ask, shlex.join(["python3", "-c", program, path, old, new]))


def read(ask: Ask, path: str) -> Call:
    tool = find(ask, _READ)
    made = _call(ask, tool, (_PATH, _where(ask, path))) if tool else None
    made = made or _editor(ask, ("view",), (_PATH, _where(ask, path)))
    return made or bash(ask, f"cat {shlex.quote(path)}")


def literal(ask: Ask, name: str, value: Any) -> Call:
    """A named tool, offered or not: a model may also call what does not exist."""
    for tool in ask.tools:
        if name in {tool.name, plain(tool.name)}:
            return Call(tool, value)
    return Call(Tool(name, "custom" if isinstance(value, str) else "function"), value)


def resolve(ask: Ask, intent: Json) -> Call:
    [(kind, value)] = intent.items()
    if kind == "bash":
        return bash(ask, value)
    if kind == "write":
        return write(ask, value["path"], value["text"])
    if kind == "edit":
        return edit(ask, value["path"], value["old"], value["new"])
    if kind == "read":
        return read(ask, value["path"])
    return literal(ask, value["name"], value["input"])


def fenced(intent: Json) -> str:
    """For a client without tools that takes edits from the text: its search-and-replace blocks."""
    [(kind, value)] = intent.items()
    if kind == "write":
        return f"{value['path']}\n```\n<<<<<<< SEARCH\n=======\n{_ended(value['text'])}>>>>>>> REPLACE\n```\n"
    if kind == "edit":
        old, new = _ended(value["old"]), _ended(value["new"])
        return f"{value['path']}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"
    raise NoTool(f"{kind} cannot be said in text")


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"
