"""OpenAI Chat Completions, the protocol most clients share."""

import json
from typing import Any

from modelserver.talk import Answer, Ask, Json, Tool, pieces
from modelserver.wire_responses import error

__all__ = ["broken", "error", "read", "stream", "whole"]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or [] if isinstance(part, dict))


def read(path: str, headers: dict[str, str], body: Json) -> Ask:
    messages = body.get("messages", [])
    users = [_text(message.get("content")) for message in messages if message.get("role") == "user"]
    form = body.get("response_format") or {}
    schema = (form.get("json_schema") or {}).get("schema")
    options = body.get("stream_options") or {}
    return Ask(
        protocol="chat",
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        tools=tuple(
            Tool(tool["function"]["name"], "function", tool["function"].get("parameters") or {})
            for tool in body.get("tools") or []
            if tool.get("type") == "function"
        ),
        text="\n".join(_text(message.get("content")) for message in messages),
        begun=any(message.get("role") == "assistant" for message in messages),
        last=users[-1] if users else "",
        schema=schema or ({"type": "object"} if form.get("type") == "json_object" else None),
        extra={"usage": bool(options.get("include_usage"))},
    )


def _usage(answer: Answer) -> Json:
    usage = answer.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _stop(answer: Answer) -> str:
    if answer.stop:
        return "length" if answer.stop == "max_tokens" else "content_filter"
    return "tool_calls" if answer.calls else "stop"


def _calls(answer: Answer) -> list[Json]:
    made = []
    for index, call in enumerate(answer.calls):
        value = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
        function = {"name": call.tool.name, "arguments": json.dumps(value)}
        made.append({"id": answer.id("call_", index), "type": "function", "function": function})
    return made


def _head(ask: Ask, answer: Answer, kind: str) -> Json:
    return {"id": answer.id("chatcmpl-"), "object": kind, "created": 0, "model": ask.model}


def whole(ask: Ask, answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": answer.say or None}
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": _stop(answer), "logprobs": None}
    return {**_head(ask, answer, "chat.completion"), "choices": [choice], "usage": _usage(answer)}


def stream(ask: Ask, answer: Answer) -> list[bytes]:
    head = _head(ask, answer, "chat.completion.chunk")
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    if answer.say:
        deltas.extend({"content": part} for part in pieces(answer.say))
    for index, call in enumerate(_calls(answer)):
        opened = {**call, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [{"index": index, **opened}]})
        deltas.extend(
            {"tool_calls": [{"index": index, "function": {"arguments": part}}]}
            for part in pieces(call["function"]["arguments"], most=400)
        )
    chunks: list[Json] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _stop(answer)}]})
    if ask.extra.get("usage"):
        chunks.append({**head, "choices": [], "usage": _usage(answer)})
    return [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]


def broken(spec: Json) -> bytes:
    return f"data: {json.dumps(error(spec))}\n\n".encode()
