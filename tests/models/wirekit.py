"""Requests as the real clients make them, and their answers read as the real clients read them."""

import contextlib
import http.client
import json

import pytest


def schema(**fields):
    return {"type": "object", "properties": fields, "required": list(fields)}


TEXT = {"type": "string"}


CLAUDE_TOOLS = [
    {"name": "Write", "input_schema": schema(file_path=TEXT, content=TEXT)},
    {"name": "Edit", "input_schema": schema(file_path=TEXT, old_string=TEXT, new_string=TEXT)},
    {"name": "Bash", "input_schema": schema(command=TEXT)},
]


CODEX_TOOLS = [
    {"type": "function", "name": "exec_command", "parameters": schema(cmd=TEXT)},
    {"type": "custom", "name": "apply_patch"},
]


CHAT_TOOLS = [
    {"type": "function", "function": {"name": "developer__shell", "parameters": schema(command=TEXT)}},
    {
        "type": "function",
        "function": {
            "name": "developer__text_editor",
            "parameters": {
                "type": "object",
                "properties": {
                    "command": {"type": "string", "enum": ["view", "write", "str_replace"]},
                    "path": TEXT,
                    "file_text": TEXT,
                    "old_str": TEXT,
                    "new_str": TEXT,
                },
                "required": ["command", "path"],
            },
        },
    },
]


GEMINI_TOOLS = [
    {
        "functionDeclarations": [
            {"name": "write_file", "parametersJsonSchema": schema(file_path=TEXT, content=TEXT)},
            {"name": "run_shell_command", "parametersJsonSchema": schema(command=TEXT)},
        ]
    }
]


SYSTEM = "You are a client. Working directory: /w/project\n"


def anthropic(**more):
    user = {"role": "user", "content": [{"type": "text", "text": "do it"}]}
    return {"model": "m", "stream": True, "system": SYSTEM, "messages": [user], "tools": CLAUDE_TOOLS, **more}


def responses(**more):
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do it"}]}]
    return {
        "model": "m",
        "stream": True,
        "instructions": SYSTEM,
        "input": items,
        "tools": CODEX_TOOLS,
        **more,
    }


def chat(**more):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "do it"}]
    return {"model": "m", "stream": True, "messages": messages, "tools": CHAT_TOOLS, **more}


def gemini(**more):
    contents = [{"role": "user", "parts": [{"text": SYSTEM}, {"text": "do it"}]}]
    return {"contents": contents, "tools": GEMINI_TOOLS, **more}


PATHS = {
    "anthropic": ("/v1/messages?beta=true", anthropic),
    "responses": ("/v1/responses", responses),
    "chat": ("/v1/chat/completions", chat),
    "gemini": ("/v1beta/models/g:streamGenerateContent?alt=sse", gemini),
}


ALL = pytest.mark.parametrize("protocol", PATHS)


def post(model, path, body, headers=None, timeout=60):
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=timeout)
    with contextlib.closing(connection):
        connection.request(
            "POST", path, json.dumps(body), {"content-type": "application/json", **(headers or {})}
        )
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()


def ask(model, protocol, **more):
    path, make = PATHS[protocol]
    return post(model, path, make(**more))


def events(data):
    """The parsed `data:` lines of a stream."""
    lines = [line[6:] for line in data.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def said(protocol, data):
    """The text of a streamed answer, joined the way its clients do."""
    found = events(data)
    if protocol == "anthropic":
        return "".join(e["delta"].get("text", "") for e in found if e["type"] == "content_block_delta")
    if protocol == "responses":
        return "".join(e["delta"] for e in found if e["type"] == "response.output_text.delta")
    if protocol == "chat":
        return "".join(c["delta"].get("content") or "" for e in found for c in e["choices"])
    return "".join(p.get("text", "") for e in found for p in e["candidates"][0]["content"]["parts"])


def called(protocol, data):
    """The tool calls of a streamed answer: [(name, arguments)]."""
    found = events(data)
    if protocol == "anthropic":
        names = [
            e["content_block"]["name"]
            for e in found
            if e["type"] == "content_block_start" and "name" in e["content_block"]
        ]
        inputs: dict[int, str] = {}
        for e in found:
            if e["type"] == "content_block_delta" and e["delta"]["type"] == "input_json_delta":
                inputs[e["index"]] = inputs.get(e["index"], "") + e["delta"]["partial_json"]
        return list(zip(names, map(json.loads, inputs.values()), strict=True))
    if protocol == "responses":
        items = [e["item"] for e in found if e["type"] == "response.output_item.done"]
        calls = [item for item in items if "call_id" in item]
        return [(c["name"], c["input"] if "input" in c else json.loads(c["arguments"])) for c in calls]
    if protocol == "chat":
        parts = [t for e in found for c in e["choices"] for t in c["delta"].get("tool_calls", [])]
        names = [t["function"]["name"] for t in parts if "name" in t["function"]]
        texts = [
            "".join(t["function"]["arguments"] for t in parts if t["index"] == i) for i in range(len(names))
        ]
        return list(zip(names, map(json.loads, texts), strict=True))
    parts = [
        p["functionCall"]
        for e in found
        for p in e["candidates"][0]["content"]["parts"]
        if "functionCall" in p
    ]
    return [(p["name"], p["args"]) for p in parts]


def counted(protocol, found):
    if protocol == "anthropic":
        usage = found[0]["message"]["usage"]
        return usage["input_tokens"], found[-2]["usage"]["output_tokens"], usage["cache_read_input_tokens"]
    if protocol == "responses":
        usage = found[-1]["response"]["usage"]
        return usage["input_tokens"], usage["output_tokens"], usage["input_tokens_details"]["cached_tokens"]
    if protocol == "chat":
        usage = found[-1]["usage"]
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        return usage["prompt_tokens"], usage["completion_tokens"], cached
    usage = found[-1]["usageMetadata"]
    return usage["promptTokenCount"], usage["candidatesTokenCount"], usage.get("cachedContentTokenCount", 0)
