"""Search earlier turns and documents by meaning.

A turn is split into pieces, and each piece is embedded once. Of the running session only archived turns are searched,
those that trimming removed from the context window. Of the other sessions a model embeds all turns. The hashed embedder
embeds only the archived ones, because it finds little that the search by words does not.

A document that the user added is split into passages of 512 tokens, the unit of search results, and these into pieces
that one vector represents well.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clio.errors import ClioError, UserError
from clio.memory.vectors.vector_store import VectorItem, VectorStore
from clio.messages import Message
from clio.sessions.session import Session
from clio.sessions.state import SessionFiles
from clio.sessions.store import SessionStore
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import make_ignored_folder, read_regular
from clio.text.embedding import (
    DEFAULT_TOP_K,
    Embedder,
    HashedEmbedder,
    compute_windows,
    filter_near_best,
    is_long_enough,
)
from clio.text.lazy_regex import LazyRegex
from clio.text.scoring import MAX_DISTANCE, MAX_NEAREST
from clio.text.translation import tr
from clio.threads import ProgressCallback, Worker, ignore_progress, never_stop

if TYPE_CHECKING:
    from clio.memory.transcripts.session_search import SessionFolder
    from clio.memory.transcripts.session_text import TurnDoc


_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
# An approximation of a model's tokens: parts of words of up to six letters, numbers of up to three digits, each
# character of a script without spaces, each other character.
TOKEN = LazyRegex(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}]{{1,6}}|\d{{1,3}}|[^\w\s]|_")
_LINE = LazyRegex(r"[^\n]*\n?")
_WORD = LazyRegex(r"\S+\s*")


class Piece(Struct, frozen=True, kw_only=True):
    """A part of a passage, with the exact text of the document.

    Attributes:
        passage: the index of its passage, from 0.
        line: the line where it begins, from 1.
    """

    passage: int
    line: int
    text: str


def split_document(text: str, piece_words: int) -> Iterator[Piece]:
    """Yield the pieces of the passages of a document.

    Passages have 512 tokens, of which 128 are shared with the next one; passages of up to 50 characters are left out.
    The pieces of a passage, concatenated, are the passage.

    piece_words: the maximum number of words of a piece, see `Embedder.piece_words`.
    """
    starts = [token.start() for token in TOKEN.finditer(text)]
    line, counted = 1, 0
    for number, (first, last) in enumerate(compute_windows(len(starts))):
        start = starts[first] if first else 0
        end = starts[last] if last < len(starts) else len(text)
        if not is_long_enough(text[start:end]):
            continue
        line += text.count("\n", counted, start)
        counted = start
        inside = 0
        for piece in _split_passage(text[start:end], piece_words):
            yield Piece(passage=number, line=line + inside, text=piece)
            inside += piece.count("\n")


def _split_passage(passage: str, piece_words: int) -> Iterator[str]:
    """Yield pieces of whole lines with up to `piece_words` words; a longer line is split between words."""
    piece, words = "", 0
    for line in _LINE.findall(passage):
        size = len(line.split())
        if words and words + size > piece_words:
            yield piece
            piece, words = "", 0
        if size <= piece_words:
            piece, words = piece + line, words + size
            continue
        parts = _WORD.findall(line)
        indent = line[: len(line) - len(line.lstrip())]
        for at in range(0, len(parts), piece_words):
            piece += ("" if at else indent) + "".join(parts[at : at + piece_words])
            if at + piece_words < len(parts):
                yield piece
                piece = ""
        words = len(parts) % piece_words or piece_words
    if piece.strip():
        yield piece


_DOCUMENT_LIST = "documents.json"
"""The list of documents the user added. It is outside the cache folder, because it cannot be recomputed."""
MAX_FILE_BYTES = 1_000_000
MAX_FILES = 2_000
SHOWN_CHARS = 1_000
_MAX_QUICK_BYTES = 200_000
"""A changed file up to this size is read again during a search; larger ones only in the background."""
_BINARY_CHECK_BYTES = 8_192


class DocumentSource(Struct, frozen=True, kw_only=True):
    """A file or folder that the user added. Paths inside the project are relative to it, others absolute.

    Attributes:
        files: the files that are embedded.
        added: seconds since the epoch.
    """

    path: str
    files: tuple[str, ...] = ()
    added: float = 0.0


class DocumentList(Struct, frozen=True, kw_only=True):
    """The content of `documents.json`."""

    sources: tuple[DocumentSource, ...] = ()


DOCUMENTS = DocumentFormat(schema="clio.documents", version=1, type=DocumentList)


class SourceUpdate(Struct, frozen=True, kw_only=True):
    """The result of adding or refreshing a source.

    Attributes:
        read: the number of files that were read.
        passages: the number of passages of all its files.
        unread: the number of files that were not read because the user stopped it.
        left_out: (file, reason) of each file that cannot be embedded.
    """

    source: DocumentSource
    read: int = 0
    passages: int = 0
    unread: int = 0
    left_out: tuple[tuple[str, str], ...] = ()


class DocumentHit(Struct, frozen=True, kw_only=True):
    """A passage of a document near the question, or up to 1,000 characters of it around the nearest piece.

    Attributes:
        line: the line where the text begins, from 1.
        changed: the file has changed since it was read.
    """

    path: str
    line: int
    text: str
    distance: float
    changed: bool = False


class Documents:
    """The documents of one project. Safe for several threads and processes.

    Methods raise StorageError if the list of documents is damaged, and OSError.

    redact: removes secrets from a text before it is stored.
    """

    def __init__(
        self, project: Path, vectors: VectorStore, *, redact: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        self._project = project
        self._path = project / ".clio" / _DOCUMENT_LIST
        self._vectors = vectors
        self._redact = redact
        self._clock = clock

    def sources(self) -> tuple[DocumentSource, ...]:
        """Return the added files and folders, sorted by path."""
        document = load_document(self._path, DOCUMENTS)
        return document.value.sources if document else ()

    def state(self, source: DocumentSource) -> tuple[int, int]:
        """Return how many files of a source changed or vanished since they were read, and how many were never read."""
        marks = self._vectors.marks()
        known = [file for file in source.files if file in marks]
        return sum(self._is_changed(file, marks[file]) for file in known), len(source.files) - len(known)

    def count_passages(self, source: DocumentSource) -> int:
        """Return the number of passages of all files of a source."""
        return sum(len(self._vectors.ids_of(file)) for file in source.files)

    def add(
        self,
        path: Path,
        files: Sequence[Path],
        *,
        stop: Callable[[], bool] = never_stop,
        tell: ProgressCallback = ignore_progress,
    ) -> SourceUpdate:
        """Add a file, or the given files of a folder; known files are read again only if they changed.

        stop, tell: see `refresh`. Raises UserError if none of the files is text, or none was read.
        """
        return self.refresh(DocumentSource(path=self.name_of(path), added=self._clock()), files, stop=stop, tell=tell)

    def refresh(
        self,
        source: DocumentSource,
        files: Sequence[Path] | None = None,
        *,
        stop: Callable[[], bool] = never_stop,
        tell: ProgressCallback = ignore_progress,
    ) -> SourceUpdate:
        """Read changed files of a source again, and remove files that no longer exist.

        Args:
            files: the files the source has now; None for the files it had.
            stop: called before each file; true ends it, and the files read by then are added.
            tell: called with the number of files done and the number of all files.
        """
        if files is None:
            files = [path for file in source.files if (path := self._project / file).is_file()]
        marks = self._vectors.marks()
        included: list[str] = []
        left_out: list[tuple[str, str]] = [
            (self.name_of(path), tr("more than {max_files:,} files", max_files=MAX_FILES)) for path in files[MAX_FILES:]
        ]
        read = unread = 0
        candidates = files[:MAX_FILES]
        for number, path in enumerate(candidates):
            tell(number, len(candidates))
            if stop():
                rest = [self.name_of(candidate) for candidate in candidates[number:]]
                included += [file for file in rest if file in source.files]
                unread = len(rest)
                break
            file = self.name_of(path)
            if file in marks and not self._is_changed(file, marks[file]):
                included.append(file)
                continue
            problem = self._embed_file(file)
            if problem is None:
                included.append(file)
                read += 1
            else:
                left_out.append((file, problem))
        if not included and unread:
            raise UserError(tr("stopped before anything of {path!r} was read; nothing was changed", path=source.path))
        if not included and not source.files:
            reason = tr(": {name!r} is {reason}", name=left_out[0][0], reason=left_out[0][1]) if left_out else ""
            raise UserError(tr("{path!r} contains no text{reason}", path=source.path, reason=reason))
        new = replace(source, files=tuple(included))
        all_sources = self._update(lambda sources: (*(other for other in sources if other.path != new.path), new))
        still_used = {file for each in all_sources for file in each.files}
        self._vectors.remove([file for file in source.files if file not in still_used], wipe=True)
        passages = self.count_passages(new)
        return SourceUpdate(source=new, read=read, passages=passages, unread=unread, left_out=tuple(left_out))

    def catch_up(self, stop: Callable[[], bool] = never_stop, tell: ProgressCallback = ignore_progress) -> int:
        """Read files that changed or were never read, for a background thread; return how many were read.

        stop, tell: see `refresh`.
        """
        read = 0
        files = dict.fromkeys(file for source in self.sources() for file in source.files)
        marks = self._vectors.marks()
        self._vectors.remove(self._vectors.groups() - files.keys(), wipe=True)
        for done, file in enumerate(files):
            if stop():
                break
            tell(done, len(files))
            if file not in marks or self._is_changed(file, marks[file]):
                read += self._embed_file(file) is None
        return read

    def remove(self, name: str) -> DocumentSource:
        """Remove an added file or folder and return it. Raises UserError if nothing of that name was added."""
        source = self.find(name)
        others = self._update(lambda sources: tuple(other for other in sources if other.path != source.path))
        still_used = {file for other in others for file in other.files}  # a file may belong to two sources
        self._vectors.remove([file for file in source.files if file not in still_used], wipe=True)
        return source

    def find(self, name: str) -> DocumentSource:
        """Return the file or folder that was added under a name or path. Raises UserError if there is none."""
        names = {name.rstrip("/") or name, self.name_of((self._project / name).resolve())}
        for source in self.sources():
            if source.path in names:
                return source
        known = ", ".join(repr(source.path) for source in self.sources()[:10]) or "none"
        raise UserError(tr("no document {name!r} was added; added: {known}", name=name, known=known))

    def search(self, question: str, count: int = DEFAULT_TOP_K) -> list[DocumentHit]:
        """Return the nearest passages, nearest first, except those farther than 1.10 × the distance of the best.

        Small files that have changed are read again first; hits in larger ones are marked as changed.
        """
        embedder = self._vectors.embedder
        found = self._vectors.search(question, 2 * count)
        if embedder is not self._vectors.embedder:
            # The embedder failed during the search, and the one that replaced it cannot use its vectors.
            self.catch_up()
            found = self._vectors.search(question, 2 * count)
        marks = self._vectors.marks()
        stale = {item.group for item, _ in found if self._is_changed(item.group, marks.get(item.group, ""))}
        quick = {file for file in stale if self._is_quick(file)}
        for file in quick:
            self._embed_file(file)
        if quick:
            found = self._vectors.search(question, 2 * count)
        near = filter_near_best([distance for _, distance in found])
        hits: list[DocumentHit] = []
        for item, distance in found[: len(near)]:
            text = item.text.strip()
            if any(hit.path == item.group and text in hit.text for hit in hits):
                continue  # adjacent passages overlap
            hits.append(self._make_hit(item, distance, changed=item.group in stale - quick))
        return hits[:count]

    def name_of(self, path: Path) -> str:
        """Return the name under which a path is stored: relative to the project if it is inside, else absolute."""
        try:
            return path.relative_to(self._project).as_posix()
        except ValueError:
            return str(path)

    def _embed_file(self, file: str) -> str | None:
        """Read and embed a file; return None, or the reason if it cannot be embedded.

        The vectors of a file that cannot be read are deleted.
        """
        path = self._project / file
        try:
            stat = path.stat()
            if stat.st_size > MAX_FILE_BYTES:
                return tr("over {max_file_bytes} MB", max_file_bytes=MAX_FILE_BYTES // 1000000)
            data = read_regular(path)
        except OSError as error:
            self._vectors.remove([file], wipe=True)
            return error.strerror or tr("not readable")
        if b"\0" in data[:_BINARY_CHECK_BYTES]:
            return tr("not text")
        digest = hashlib.sha256(data).hexdigest()[:16]
        mark = f"{stat.st_mtime_ns}.{stat.st_size}.{digest}"
        if self._vectors.marks().get(file, "").endswith(f".{digest}"):  # only its time has changed
            self._vectors.mark(file, mark)
            return None
        text = self._redact(data.decode("utf-8", "replace").replace("\r\n", "\n"))
        self._vectors.remove([file])
        self._vectors.put(self._make_items(file, text))
        self._vectors.mark(file, mark)  # last, so that a file is read again if the process ends before
        return None

    def _make_items(self, file: str, text: str) -> Iterable[VectorItem]:
        now = self._clock()
        for piece in split_document(text, self._vectors.embedder.piece_words):
            yield VectorItem(
                id=f"{file}#{piece.passage}", group=file, text=piece.text, role="document", created=now, line=piece.line
            )

    def _make_hit(self, item: VectorItem, distance: float, *, changed: bool) -> DocumentHit:
        _, pieces = self._vectors.read_around(item, lambda piece: len(piece.text), SHOWN_CHARS)
        text = "".join(piece.text for piece in pieces).strip("\n")
        return DocumentHit(path=item.group, line=pieces[0].line, text=text, distance=distance, changed=changed)

    def _is_changed(self, file: str, mark: str) -> bool:
        try:
            stat = (self._project / file).stat()
        except OSError:
            return True
        return not mark.startswith(f"{stat.st_mtime_ns}.{stat.st_size}.")

    def _is_quick(self, file: str) -> bool:
        try:
            return (self._project / file).stat().st_size <= _MAX_QUICK_BYTES
        except OSError:
            return True  # it does not exist any more, which takes no time to find out

    def _update(
        self, change: Callable[[tuple[DocumentSource, ...]], tuple[DocumentSource, ...]]
    ) -> tuple[DocumentSource, ...]:
        make_ignored_folder(self._path.parent, self._path.parent)
        new = update_document(
            self._path,
            DOCUMENTS,
            lambda old: replace(old, sources=tuple(sorted(change(old.sources), key=lambda source: source.path))),
        )
        return new.sources


MIN_PIECE_WORDS = 8
"""Shorter sentences are joined with the next ones."""
MAX_PIECES = 80
SHOWN_WORDS = 60
_PAUSE_S = 0.003
"""Pause after each session read in the background, so that the prompt stays responsive."""
_WHOLE_MARK = " whole"
"""Follows the stamp of a session all of whose turns are embedded."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;:])\s+|\n+")


class NearTurn(Struct, frozen=True):
    """A turn whose meaning is near the question.

    Attributes:
        piece: the index of its nearest piece, from 0.
        text: that piece with the text around it.
        distance: the distance of that piece, 0.0 to 2.0.
    """

    session: str
    message: str
    piece: int
    role: str
    text: str
    created: float
    distance: float


class _Progress(Struct, frozen=True):
    """How far a session is indexed: all messages before `place`, the last of which is `id`, have left its window."""

    session: Session
    embedder: Embedder
    place: int
    id: str


class ArchivedTurns:
    """The archived turns of all sessions of a project. Thread-safe."""

    def __init__(self, vectors: VectorStore) -> None:
        self._vectors = vectors
        self._progress: _Progress | None = None
        self._worker = Worker("embed-turns")

    @property
    def have_any(self) -> bool:
        """Whether there may be any; known without reading them."""
        return self._vectors.exists

    def index(self, session: Session) -> int:
        """Embed the turns that left the session's window and are not embedded yet; return the number of pieces added.

        If a server makes the vectors, a worker thread does this, and the return value is 0.
        """
        archived = self._find_newly_archived(session)
        if not archived:
            return 0
        if not self._vectors.embedder.remote:
            return self._put(session.id, archived)
        # A request to a server takes up to seconds; the answer to the user must not wait for it.
        self._worker.submit(lambda: self._put(session.id, archived))
        return 0

    def _find_newly_archived(self, session: Session) -> "list[TurnDoc]":
        """Return the turns archived since the last call; all archived turns if the embedder has changed."""
        messages, inside = session.messages, set(session.window_ids)
        known, embedder = self._progress, self._vectors.embedder
        start = 0
        if known and known.session is session and known.embedder is embedder and 0 < known.place <= len(messages):
            start = known.place if messages[known.place - 1].id == known.id else 0
        first = next((place for place in range(start, len(messages)) if messages[place].id in inside), len(messages))
        self._progress = _Progress(session, embedder, first, messages[first - 1].id if first else "")
        return _list_archived(messages[start:], inside)

    def wait(self) -> None:
        """Wait until the worker thread has embedded everything that `index` gave it."""
        self._worker.wait()

    def rebuild(self, store: SessionStore, stop: Callable[[], bool] = never_stop, *, whole: bool = False) -> int:
        """Update the vectors from the session files, for a background thread; return how many sessions were read.

        Only changed sessions are read. The texts of deleted sessions are removed from the files. Raises OSError if the
        folder of the sessions cannot be read.

        stop: called between sessions; true ends the update.
        whole: embed all turns of the sessions, not only archived ones.
        """
        from clio.sessions.loading import load_session

        folder = self.forget_deleted(store)
        known = self._vectors.marks()
        read = 0
        newest = sorted(
            folder.stamps.keys() - store.find_foreign(set(folder.stamps)), key=lambda id: -folder.stamps[id].modified
        )
        for id in newest:
            if stop():
                break
            stamp = folder.stamps[id].encode() + (_WHOLE_MARK if whole else "")
            if known.get(id) == stamp:
                continue
            try:
                state = load_session(SessionFiles(store.folder, id), outputs=False).state
            except (ClioError, OSError):
                continue  # retried at the next start; the user sees the reason when opening the session
            self._put(id, _list_archived(state.messages, () if whole else state.window_ids))
            self._vectors.mark(id, stamp)
            read += 1
            time.sleep(_PAUSE_S)
        return read

    def forget_deleted(self, store: SessionStore) -> "SessionFolder":
        """Remove the texts of deleted sessions from the files; return the folder of sessions. Raises OSError."""
        from clio.memory.transcripts.session_search import SessionFolder

        folder = SessionFolder(store.folder)
        folder.scan()
        if self.have_any:
            # Text of a session that the user deleted must not stay readable in the files.
            self._vectors.remove(self._vectors.groups() - folder.stamps.keys(), wipe=True)
        return folder

    def search(
        self,
        question: str,
        *,
        sessions: Sequence[str] | None,
        count: int = MAX_NEAREST,
        limit: float = MAX_DISTANCE,
        session: Session | None = None,
    ) -> list[NearTurn]:
        """Return the nearest turns whose distance is less than the limit, nearest first.

        Args:
            sessions: ids of the sessions to search; None for all.
            session: the running session. Turns in its window are left out: undoing a trim brings turns back into it.
        """
        seen = frozenset(f"{session.id}/{id}" for id in session.window_ids) if session else frozenset[str]()
        found = self._vectors.search(question, count, groups=sessions, without=seen)
        if self._progress is not None and self._progress.embedder is not self._vectors.embedder:
            # The embedder failed during the search. The one that replaced it cannot use the old vectors, so the
            # running session is embedded again; other sessions follow with the next `rebuild`.
            last = self._progress.session
            self._put(last.id, self._find_newly_archived(last))
            found = self._vectors.search(question, count, groups=sessions, without=seen)
        return [self._make_near_turn(item, distance) for item, distance in found if distance < limit]

    def _make_near_turn(self, item: VectorItem, distance: float) -> NearTurn:
        piece, around = self._vectors.read_around(item, lambda piece: len(piece.text.split()), SHOWN_WORDS)
        text = " ".join(one.text for one in around)
        return NearTurn(item.group, item.id.partition("/")[2], piece, item.role, text, item.created, distance)

    def _put(self, session: str, turns: "Iterable[TurnDoc]") -> int:
        size = self._vectors.embedder.piece_words
        return self._vectors.put(
            VectorItem(
                id=f"{session}/{turn.message_id}", group=session, text=piece, role=turn.role, created=turn.created
            )
            for turn in turns
            for piece in split_turn(turn.text, size)
        )


def _list_archived(messages: Sequence[Message], window: Iterable[str]) -> "list[TurnDoc]":
    """Return the turns that are not in the window, without tool outputs."""
    inside = set(window)
    if all(message.id in inside for message in messages):
        return []
    from clio.memory.transcripts.session_text import extract_turns

    turns = extract_turns(messages, lambda _: "")
    return [turn for turn in turns if turn.message_id not in inside and turn.role != "tool"]


def split_turn(text: str, size: int) -> list[str]:
    """Split a text into at most 80 pieces of whole sentences or lines, of 8 to `size` words where possible.

    The vector of a long text is far from that of a short question, whatever the text says.
    """
    found: list[str] = []
    words: list[str] = []
    for sentence in _SENTENCE_ENDS.split(text):
        added = sentence.split()
        if words and (len(words) >= min(MIN_PIECE_WORDS, size) or len(words) + len(added) > size):
            found.append(" ".join(words))
            words = []
        words += added
        while len(words) > size:
            found.append(" ".join(words[:size]))
            words = words[size:]
    if words:
        found.append(" ".join(words))
    return found[:MAX_PIECES]


class SemanticIndex:
    """The vectors of one project's archived turns and documents. Thread-safe.

    No vector is read and numpy is not imported before there is something to search.

    Args:
        embedder: None for the hashed one.
        persist: whether files may be written.
        redact: removes secrets from the text of documents.
    """

    def __init__(
        self,
        project: Path,
        embedder: Embedder | None,
        *,
        persist: bool,
        redact: Callable[[str], str],
        clock: Callable[[], float],
    ) -> None:
        self._project = project
        self._redact = redact
        self._clock = clock
        embedder = embedder or HashedEmbedder()
        cache = project / ".clio" / "cache"
        self._of_turns = VectorStore(cache / "vectors" if persist else None, embedder)
        self._of_documents = VectorStore(cache / "documents" if persist else None, embedder)
        self._reported: set[str] = set()
        self.archived_turns = ArchivedTurns(self._of_turns)

    @property
    def has_documents(self) -> bool:
        """Whether any were added."""
        return (self._project / ".clio" / _DOCUMENT_LIST).exists()

    @cached_property
    def documents(self) -> Documents:
        """The documents the user added."""
        return Documents(self._project, self._of_documents, redact=self._redact, clock=self._clock)

    @property
    def uses_model(self) -> bool:
        """Whether a model makes the vectors, so that texts without a common word can be near each other."""
        return not self._of_turns.embedder.name.startswith("hashed-")

    def refresh(self, store: SessionStore, stop: Callable[[], bool] = never_stop, *, all_sessions: bool) -> None:
        """Update the vectors from sessions and documents, for a background thread.

        all_sessions: also embed the archived turns of sessions that are not open; a model embeds all turns of them in
            any case. Raises StorageError and OSError.
        """
        if all_sessions or self.uses_model:
            self.archived_turns.rebuild(store, stop, whole=self.uses_model)
        else:
            self.archived_turns.forget_deleted(store)
        if self.has_documents and not stop():
            self.documents.catch_up(stop)

    def pop_notices(self) -> list[str]:
        """Return new notices about embedders and packages for the user. Each notice is returned only once."""
        found = [store.trouble for store in (self._of_turns, self._of_documents) if store.trouble]
        found += filter(None, (store.describe_slow_search() for store in (self._of_turns, self._of_documents)))
        new = [text for text in dict.fromkeys(found) if text not in self._reported]
        self._reported.update(new)
        return new

    def close(self) -> None:
        """Stop the threads that build graphs of neighbours."""
        self._of_turns.close()
        self._of_documents.close()
