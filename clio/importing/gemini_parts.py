"""The parts a message of Gemini CLI is made of: words, pictures, calls with their results beside them."""

from collections.abc import Iterator
from typing import Any

from clio.importing.pieces import Json, Picture, Said, Tally, as_json, kind_of, mapping, mappings, seconds, text
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_INJECTED = ("<session_context>", "This is the Gemini CLI. We are setting up the context", "<state_snapshot>")


def said_by(key: str, raw: Json, id: str) -> Iterator[Said]:
    """A message of a chat, and the results of the calls it has."""
    created = seconds(raw.get("timestamp"))
    words, pictures = _words(raw.get("content"))
    if raw.get("type") == "user":
        if words.strip() or pictures:
            origin = "continue" if words.startswith(_INJECTED) else "user"
            message = UserMessage(content=words.strip(), origin=origin, id=id, created=created)
            yield Said(key=key, message=message, pictures=tuple(pictures))
        return
    calls = list(mappings(raw.get("toolCalls")))
    made = tuple(_call(call, f"{id}-{number}") for number, call in enumerate(calls))
    if words.strip() or made:
        model = text(raw.get("model"))
        answer = AssistantMessage(content=words.strip(), tool_calls=made, model=model, id=id, created=created)
        yield Said(key=key, message=answer)
    for call, one in zip(calls, made, strict=True):
        yield Said(key=key, message=_result(call, one, created))


def sent_parts(content: Json, place: int, created: float, tally: Tally) -> Iterator[Message]:
    """The messages in one entry of a history as it was sent to the model.

    place: of the entry in the history. Calls may have no ids; then the results stand in the next entry, in their order.
    """
    id = f"g{place}"
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolMessage] = []
    for part in mappings(content.get("parts")):
        call, response = mapping(part.get("functionCall")), mapping(part.get("functionResponse"))
        if call:
            made = text(call.get("id")) or f"g{place}-{len(calls)}"
            calls.append(ToolCall(id=made, name=text(call.get("name")), arguments=as_json(call.get("args") or {})))
        elif response:
            answers, number = text(response.get("id")) or f"g{place - 1}-{len(results)}", len(results)
            output = _output(response.get("response"))
            results.append(ToolMessage(tool_call_id=answers, content=output, id=f"{id}-{number}", created=created))
        elif part.get("thought") is not True:
            texts.append(text(part.get("text")))
    words = "\n\n".join(one for one in texts if one.strip())
    yield from results
    if content.get("role") == "model":
        if words or calls:
            yield AssistantMessage(content=words, tool_calls=tuple(calls), id=id, created=created)
    elif content.get("role") == "user":
        if words:
            origin = "continue" if words.startswith(_INJECTED) else "user"
            yield UserMessage(content=words, origin=origin, id=id, created=created)
    else:
        tally.kinds[kind_of("role", content.get("role"))] += 1


def _call(call: Json, made_id: str) -> ToolCall:
    id = text(call.get("id")) or made_id
    return ToolCall(id=id, name=text(call.get("name")), arguments=as_json(call.get("args") or {}))


def _result(call: Json, made: ToolCall, created: float) -> ToolMessage:
    shown = call.get("resultDisplay")
    output = _output(call.get("result")) or text(shown) or text(mapping(shown).get("fileDiff"))
    failed = call.get("status") in ("error", "cancelled")
    if failed and not output:
        output = text(call.get("error")) or text(call.get("status"))
    return ToolMessage(
        tool_call_id=made.id,
        content=output,
        ok=not failed,
        id=f"{made.id}-result",
        created=seconds(call.get("timestamp")) or created,
    )


def _output(value: Any) -> str:
    """The words in a result, however deep the program has put them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (_output(one) for one in mappings(value))))
    whole = mapping(value)
    for name in ("functionResponse", "response", "output", "error", "text"):
        if name in whole:
            return _output(whole[name])
    return as_json(whole) if whole else ""


def _words(content: Any) -> tuple[str, list[Picture]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    pictures: list[Picture] = []
    for part in mappings(content) if isinstance(content, list) else [mapping(content)]:
        data = mapping(part.get("inlineData"))
        if text(data.get("mimeType")).startswith("image/"):
            pictures.append(Picture(media_type=text(data.get("mimeType")), data=text(data.get("data"))))
        elif part.get("thought") is not True:
            texts.append(text(part.get("text")))
    return "\n\n".join(one for one in texts if one.strip()), pictures
