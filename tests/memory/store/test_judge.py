"""The relation of a new memory to an existing one."""

from pathlib import Path

import pytest

from clio.memory.store.typed_store import TypedStore

CASES = [
    ("run pytest with -x before every commit", "before every commit run pytest with -x", "merged"),
    ("Config is YAML.", "config is yaml", "merged"),
    ("User prefers dark mode", "User prefers dark mode for coding", "kept_both"),
    ("the quick brown fox jumps over the lazy dog", "completely different text about programming go", "new"),
    ("dev server listens on port 8080", "dev server listens on port 8081", "superseded"),
    ("database host is db1 internal", "database host is db2 internal", "superseded"),
    ("the staging database listens on port 5433", "staging database is now on port 5544", "superseded"),
    ("the deploy command is make ship", "the deploy command is make release", "superseded"),
    ("run tests before commit", "do not run tests before commit", "superseded"),
    ("the server logs go to /var/log/app.log", "the server logs go to /srv/log/app.log", "superseded"),
    ("needs Python 3.11.2 to build", "needs Python 3.12.0 to build", "superseded"),
    ("api port is 80", "db port is 81", "new"),
    ("db1 listens on port 80", "web1 listens on port 80", "new"),
    ("db1 listens on port 80", "db2 listens on port 81", "new"),
    ("python 3.11 is required to build", "python 3.12 is required to build", "superseded"),
    ("the api server listens on port 80", "the db server listens on port 81", "new"),
    ("用户喜欢深色模式", "发布之前必须运行测试", "new"),
    ("用户喜欢深色模式", "用户喜欢浅色模式", "new"),
    ("用户喜欢深色模式", "用户喜欢深色模式", "merged"),
    ("🎉", "🎉", "merged"),
    ("🎉", "🚀", "new"),
    ("HTTP 404 means the job is gone", "HTTP 409 means the job is running", "new"),
    ("Python 3.11 is supported", "Python 3.12 is supported", "new"),
    ("test shard 1 takes 4 minutes", "test shard 2 takes 9 minutes", "new"),
    ("line 40 of parser.py holds the tokenizer", "line 80 of parser.py holds the printer", "new"),
    ("src/a.py holds the parser", "src/b.py holds the parser", "new"),
    ("the API listens on port 8080", "the API moved to port 9090", "superseded"),
]


@pytest.mark.parametrize(("old", "new", "action"), CASES)
def test_the_relation_of_two_texts_decides_the_outcome(old: str, new: str, action: str, tmp_path: Path) -> None:
    store = TypedStore(tmp_path / "memories.json")
    first = store.remember(old, "fact")
    second = store.remember(new, "fact")
    assert second.action == action
    assert {record.content for record in store.records(superseded=True)} >= {new}
    if action == "superseded":
        assert [record.content for record in store.history(second.record.id)] == [new, old]
    elif action == "merged":
        assert second.record.id == first.record.id
    else:
        assert store.count() == 2
