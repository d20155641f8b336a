"""What MCP servers may ask of the user and of the user's model: forms and pages (elicitation), answers (sampling).

Each request is shown to the user with the server's name. A run without a user offers servers neither.
"""

import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from clio.config.loaded import McpServer
from clio.mcp.values import Ask, ElicitationQuestion
from clio.text.translation import tr

MAX_SAMPLING_CHARS, MAX_SAMPLING_TOKENS, MAX_SAMPLING_MESSAGES = 50_000, 4_096, 40
"""Limits of one request to the user's model: its text, the answer, and the messages."""
MAX_UNASKED_SAMPLES = 50
"""Answers of the model that one server gets in a session without a new question."""
_SHOWN_CHARS = 4_000
_MAX_FIELDS = 20
_MAX_MESSAGE_CHARS = 2_000
_MAX_OPTIONS, _MAX_OPTION_CHARS = 50, 200
"""Limits for the choices and defaults of a field: the user must be able to read what is sent."""
MAX_DECLINED = 3
"""Requests of one server in a row that the user declines; later ones are declined without a question."""
# Letters that look like Latin ones, for words spelled with them.
_LOOKALIKES = str.maketrans("аеорсухіѕԁɡһјкмпвтαορκνι", "aeopcyxisdghjkmnbtaopkvi")
# Words for what a form must not ask for, in the languages of the interface's users.
_SECRET_WORDS = re.compile(
    r"pass ?(?:word|phrase|code)|passwor[td]|kennwort|mot de passe|contraseña|senha|парол|密码|密碼|パスワード|비밀번호"
    r"|api.?key|access.?token|secret|private.?key|geheim|\bpin\b|\btan\b|\bcvv?c?\b|one.?time.?code|\botp\b|2fa"
    r"|credit.?card|kreditkarte|card.?number|social.?security|\bssn\b|seed.?phrase|recovery.?(?:code|phrase)",
    re.IGNORECASE,
)
WaitingForUser = Callable[[], AbstractContextManager[None]]
"""Stops the time limits of a server's running calls while it waits for the user."""


class SamplingRequest(Struct, frozen=True, kw_only=True):
    """What a server wants the user's model to answer. messages: role ("user" or "assistant") and text."""

    server: str
    system: str
    messages: tuple[tuple[str, str], ...]
    max_tokens: int
    stop: tuple[str, ...] = ()


class SamplingAnswer(Struct, frozen=True, kw_only=True):
    """The model's answer. stop_reason: "endTurn" or "maxTokens"."""

    text: str
    model: str
    stop_reason: str = "endTurn"


class SamplingFailed(Exception):
    """The model was not asked, or did not answer. The message goes to the server."""


class Sampler:
    """Asks the user's model for a server. model: its name for the question. answer: raises SamplingFailed."""

    def __init__(
        self, model: Callable[[], str], answer: Callable[[SamplingRequest], Awaitable[SamplingAnswer]]
    ) -> None:
        self.model = model
        self.answer = answer


class ServerRequests:
    """Answers the requests of all servers.

    Args:
        ask: asks the user. None in a run without a user: servers are then offered no forms, and the model only if the
            user's own entry says `sampling: allow`.
        clean: replaces secrets.
        tell: shows the user one line.
    """

    def __init__(self, ask: Ask | None, clean: Callable[[str], str], tell: Callable[[str], None]) -> None:
        self._ask = ask
        self._clean = clean
        self._tell = tell
        self.sampler: Sampler | None = None
        self._sample_counts: dict[str, int] = {}
        self._declined: dict[str, int] = {}
        self._allowed: set[str] = set()

    @property
    def can_ask(self) -> bool:
        """Whether servers may ask the user."""
        return self._ask is not None

    def offers_sampling(self, server: McpServer) -> bool:
        """Whether this server may ask for the user's model."""
        return self.sampler is not None and (
            server.sampling == "allow" or (server.sampling == "ask" and self._ask is not None)
        )

    async def fill_form(
        self, server: str, message: str, questions: Sequence[ElicitationQuestion]
    ) -> dict[str, str] | None:
        """Ask the user a form's questions; None if it is declined."""
        if self._ask is None or self._is_ignored(server):
            return None
        answers = await self._ask_questions(self._ask, server, message[:_MAX_MESSAGE_CHARS], questions)
        self._note_answer(server, accepted=answers is not None)
        return answers

    def _is_ignored(self, server: str) -> bool:
        """Whether the user has declined this server's requests so often that no more are shown."""
        return self._declined.get(server, 0) >= MAX_DECLINED

    def _note_answer(self, server: str, *, accepted: bool) -> None:
        self._declined[server] = 0 if accepted else self._declined.get(server, 0) + 1
        if self._is_ignored(server):
            self._tell(
                tr("MCP: {server!r} has asked {count} times in vain; it is not shown any more", server=server,
                   count=MAX_DECLINED)
            )  # fmt: skip

    async def _ask_questions(
        self, ask: Ask, server: str, message: str, questions: Sequence[ElicitationQuestion]
    ) -> dict[str, str] | None:
        answers: dict[str, str] = {}
        warned = asks_for_secret(message, *(f"{question.name} {question.text}" for question in questions))
        for question in questions:
            hint = f"\n\n(Enter: {question.default})" if question.default is not None else ""
            text = tr(
                "The MCP server {server!r} asks, in its own words:\n\n{quoted}{hint}",
                server=server,
                quoted=quote_server_text(f"{message}\n\n{question.text[:_MAX_MESSAGE_CHARS]}"),
                hint=hint,
            )
            if warned:
                text = "\n\n".join((_warn_of_secrets(server), text))
            try:
                answer = await ask(text, question.options)
                if answer and self._clean(answer) != answer and not await self._confirm_secret(server):
                    return None
            except Exception:  # no one can be asked, or Esc: the request is declined
                return None
            answers[question.name] = answer or question.default or ""
        return answers if any(answers.values()) else None

    async def open_page(self, server: str, message: str, url: str) -> bool:
        """Show the address of a page the server wants the user to visit; whether the user did. Opens nothing."""
        if self._ask is None or self._is_ignored(server) or not _is_web_address(url):
            return False
        done, no = tr("I have visited it"), tr("no")
        text = tr(
            "The MCP server {server!r} asks you to open a page of {host}:\n\n{quoted}\n\n{url}\n\nclio does "
            "not open it. Visit it only if you expected this.",
            server=server,
            host=urlsplit(url).hostname or "?",
            quoted=quote_server_text(message[:_MAX_MESSAGE_CHARS]),
            url=url,
        )
        try:
            visited = await self._ask(text, (done, no)) == done
        except Exception:  # no one can be asked, or Esc
            visited = False
        self._note_answer(server, accepted=visited)
        return visited

    async def sample(self, server: McpServer, request: SamplingRequest) -> SamplingAnswer:
        """Have the user's model answer, after asking the user. Raises SamplingFailed."""
        sampler = self.sampler
        if sampler is None or not self.offers_sampling(server):
            raise SamplingFailed("the user's model is not available to servers")
        size = len(request.system) + sum(len(text) for _, text in request.messages)
        if size > MAX_SAMPLING_CHARS or len(request.messages) > MAX_SAMPLING_MESSAGES:
            raise SamplingFailed(
                f"a request may have {MAX_SAMPLING_CHARS:,} characters in {MAX_SAMPLING_MESSAGES} messages"
            )
        await self._ask_about_sampling(server, request, sampler.model(), size)
        self._sample_counts[server.name] = self._sample_counts.get(server.name, 0) + 1
        answer = await sampler.answer(request)
        self._tell(tr("{model} has answered the MCP server {server!r}", model=answer.model, server=server.name))
        return answer

    async def _ask_about_sampling(self, server: McpServer, request: SamplingRequest, model: str, size: int) -> None:
        is_allowed = server.sampling == "allow" or server.name in self._allowed
        if is_allowed and self._sample_counts.get(server.name, 0) % MAX_UNASKED_SAMPLES != MAX_UNASKED_SAMPLES - 1:
            return
        if self._ask is None:
            raise SamplingFailed("no user can be asked")
        if self._is_ignored(server.name):
            raise SamplingFailed("the user refused")
        once, session, no = tr("allow once"), tr("allow in this session"), tr("no")
        text = "\n\n".join(
            (*([request.system] if request.system else []), *(f"{role}: {text}" for role, text in request.messages))
        )
        shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}\n[… {len(text) - _SHOWN_CHARS:,} more]"
        question = tr(
            "The MCP server {server!r} wants {model} to answer this, at your cost: about {tokens:,} tokens, and up to "
            "{max_tokens:,} for the answer, which the server gets.\n\n{quoted}",
            server=server.name,
            model=model,
            tokens=size // 4 + 1,
            max_tokens=request.max_tokens,
            quoted=quote_server_text(shown),
        )
        try:
            answer = await self._ask(question, (once, session, no))
        except Exception:  # no one can be asked, or Esc
            answer = ""
        self._note_answer(server.name, accepted=answer in (once, session))
        if answer == session:
            self._allowed.add(server.name)
        elif answer != once:
            raise SamplingFailed("the user refused")

    async def _confirm_secret(self, server: str) -> bool:
        assert self._ask is not None
        send, no = tr("send it"), tr("do not send it")
        text = tr("This looks like a secret, and it would be sent to the MCP server {server!r}.", server=server)
        return await self._ask(text, (no, send)) == send


def asks_for_secret(*texts: str) -> bool:
    """Whether a server's texts ask for a password, key or number that no server may ask for."""
    return any(_SECRET_WORDS.search(_spell_plainly(text)) for text in texts)


def _spell_plainly(text: str) -> str:
    """Return a text without invisible characters, and with letters that look alike as the Latin ones."""
    text = unicodedata.normalize("NFKC", text).replace("_", " ").replace("-", " ")
    visible = "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Mn"))
    return f"{visible}\n{visible.lower().translate(_LOOKALIKES)}"


def quote_server_text(text: str) -> str:
    """Return a server's text as a block that nothing in it can end, so that no line of it poses as clio's own words."""
    fence = "`" * max(max((len(run) for run in re.findall(r"`+", text)), default=0) + 1, 3)
    return f"{fence}\n{text.strip()}\n{fence}"


def _is_web_address(url: str) -> bool:
    """Whether the user can read and judge an address: a web page's, with nothing invisible, and shown as a whole."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and url.isascii()
        and url.isprintable()
        and " " not in url
        and len(url) <= _MAX_MESSAGE_CHARS
    )


def _warn_of_secrets(server: str) -> str:
    return tr(
        "Warning: this seems to ask for a secret. MCP servers may not ask for passwords, keys or card numbers; what "
        "you type is sent to {server!r}.",
        server=server,
    )


def make_roots_handler(project: Path) -> Any:
    """Return the SDK's callback that tells servers the project folder."""
    from mcp.types import ListRootsResult, Root

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=cast(Any, project.as_uri()), name=project.name)])

    return roots


def make_sampling_handler(server: McpServer, requests: ServerRequests, waiting: WaitingForUser) -> Any:
    """Return the SDK's callback for requests to the user's model."""
    from mcp.types import CreateMessageResult, ErrorData, TextContent

    async def sample(context: Any, params: Any) -> CreateMessageResult | ErrorData:
        try:
            messages = tuple((message.role, _read_text(message)) for message in params.messages)
            if not messages:
                raise SamplingFailed("the request has no messages")
            request = SamplingRequest(
                server=server.name,
                system=params.system_prompt or "",
                messages=messages,
                max_tokens=max(1, min(params.max_tokens, MAX_SAMPLING_TOKENS)),
                stop=tuple(params.stop_sequences or ())[:4],
            )
            with waiting():
                answer = await requests.sample(server, request)
        except SamplingFailed as error:
            return ErrorData(code=-1, message=f"sampling refused: {error}")
        return CreateMessageResult(
            role="assistant",
            content=TextContent(type="text", text=answer.text),
            model=answer.model,
            stop_reason=answer.stop_reason,
        )

    return sample


def _read_text(message: Any) -> str:
    blocks = message.content_as_list
    if any(block.type != "text" for block in blocks):
        raise SamplingFailed("only text is supported")
    return "\n\n".join(block.text for block in blocks)


def make_elicitation_handler(name: str, requests: ServerRequests, waiting: WaitingForUser) -> Any:
    """Return the SDK's callback for forms and pages."""
    from mcp.types import ElicitResult

    async def handle_elicitation(context: Any, params: Any) -> ElicitResult:
        if params.mode == "url":
            with waiting():
                visited = await requests.open_page(name, params.message, str(params.url))
            return ElicitResult(action="accept" if visited else "decline")
        if params.mode != "form":
            return ElicitResult(action="decline")
        questions = read_questions(params.requested_schema)
        if not questions:
            return ElicitResult(action="decline")
        with waiting():
            answers = await requests.fill_form(name, params.message, questions)
        if answers is None:
            return ElicitResult(action="decline")
        content = {
            question.name: _convert_answer(answers[question.name], question)
            for question in questions
            if answers.get(question.name)
        }
        if any(question.required and question.name not in content for question in questions):
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content=cast(Any, content))

    return handle_elicitation


def read_questions(schema: dict[str, Any]) -> list[ElicitationQuestion]:
    """Return one question for each field of a form; [] if a required field cannot be answered as text."""
    required = schema.get("required", [])
    found: list[ElicitationQuestion] = []
    for name, field in list(cast("dict[str, Any]", schema.get("properties", {})).items())[:_MAX_FIELDS]:
        kind = field.get("type", "string")
        choices = tuple(map(str, field.get("enum") or [choice.get("const") for choice in field.get("oneOf", [])]))
        default = _format_default(field.get("default"))
        is_readable = len(choices) <= _MAX_OPTIONS and all(
            len(text) <= _MAX_OPTION_CHARS and text.isprintable() for text in (*choices, default or "")
        )
        if kind not in ("string", "number", "integer", "boolean") or not is_readable:
            if name in required:
                return []
            continue
        text = " ".join(str(field.get("description") or field.get("title") or name).split())
        found.append(
            ElicitationQuestion(
                name=name,
                text=text,
                options=("yes", "no") if kind == "boolean" else choices,
                kind=kind,
                default=default,
                required=name in required,
            )
        )
    return found


def _format_default(default: object) -> str | None:
    """Return a field's default as the user would type it."""
    if isinstance(default, bool):
        return "yes" if default else "no"
    return None if default is None else str(default)


def _convert_answer(text: str, question: ElicitationQuestion) -> str | int | float | bool:
    if question.kind == "boolean":
        return text.strip().lower() in ("yes", "y", "true", "1")
    try:
        if question.kind == "integer":
            return int(text)
        if question.kind == "number":
            return float(text)
    except ValueError:
        pass
    return text
