"""The trim in docs/context.md: what the model sees of it, through a whole clio."""

from pathlib import Path

from bench.trim_example import REQUEST, STEPS, run_example, summarize_messages


def test_the_trim_of_the_documentation(tmp_path: Path) -> None:
    bodies, place = run_example(tmp_path)
    before, after = (body["messages"] for body in bodies[place - 1 : place + 1])
    assert len(after) < len(before)
    results = [message["content"] for message in after if message["role"] == "tool"]
    assert all("left out" not in result for result in results[-3:])  # the last three steps are unchanged
    assert any(result.startswith("[an earlier search: 24 matches in 1 file;") for result in results)
    words = after[1]["content"]
    assert words.count(REQUEST) == 1  # the task, only once in the whole request
    assert sum(REQUEST in str(message["content"]) for message in after) == 1
    assert "read_file 1; failed: edit_file 1" in words
    assert "\n- reader.py" in words
    assert len(summarize_messages(bodies[place])) == len(after)
    assert len(bodies) == len(STEPS) + 1
