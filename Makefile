# A venv of its own in .venv; it is made anew when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test test-fast slow-tests check fuzz fuzz-commands fuzz-scripts found-commands starts bench peers year team mcp-peers torture soak docs clean

# make run ARGS='-p "where is the retry policy?"'
run: $(READY)
	$(BIN)/clio $(ARGS)

# make test T=tests/config
test: $(READY)
	$(BIN)/python -m pytest $(T)

# The tests that take less than 0.05 s each: under a minute on two cores.
test-fast: $(READY)
	$(BIN)/python -m pytest -m fast -n 2 $(T)

# Measure all tests and write tests/slow_tests.txt, which says what `test-fast` leaves out.
slow-tests: $(READY)
	$(BIN)/python -m pytest -n 2 --durations=0 --durations-min=0.01 > durations.txt; true
	$(BIN)/python -m tests.support.slow_tests durations.txt

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python docs/make_reference.py --check
	$(BIN)/python -m pytest

# The property tests with many more examples each, and all cases of the tests that take a sample; takes long.
fuzz: $(READY)
	$(BIN)/python -m pytest -m "hypothesis or sampled" --hypothesis-profile=fuzz --timeout=3600 $(T)

# Command lines by chance, really run with stand-ins, against what clio says they run; then options by chance, and what
# would run without a question run for real, which must change nothing: make fuzz-commands N=100000 SEED=1
fuzz-commands: $(READY)
	$(BIN)/python -m tests.security.command_fuzz $(or $(N),20000) $(or $(SEED),0)
	$(BIN)/python -m tests.security.command_options_fuzz $(or $(N),30000) $(or $(SEED),0)

# Scripts of sed, awk, jq, find, tar … by chance; those judged read-only are run: make fuzz-scripts N=3000 LANGUAGES="sed awk"
fuzz-scripts: $(READY)
	$(BIN)/python -m tests.security.script_fuzz $(or $(N),1000) $(or $(SEED),0) $(LANGUAGES)

# The same with what this machine's shell scripts hold, behind bwrap: make found-commands N=12000 IN="/usr /etc"
found-commands: $(READY)
	$(BIN)/python -m tests.security.command_found $(or $(N),12000) $(or $(IN),/usr /etc)

# Starts in a terminal with typing, late replies and resizing at random times: make starts N=200 SEED=0
starts: $(READY)
	$(BIN)/python -m tests.entrypoints.test_starts $(or $(N),150) $(or $(SEED),0)

bench: $(READY)
	for file in bench/*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

# clio beside the agents installed here, and docs/peers.svg: two minutes with codex, half an hour with all.
peers: $(READY)
	$(BIN)/python bench/peers.py --runs 5 --turns 500 --files 20000 --chart docs/peers.svg $(ARGS)

# A year of work day by day, and its curves in docs/year.svg: two to five minutes. make year ARGS='--sessions 60'
year: $(READY)
	$(BIN)/python -m bench.year $(ARGS)

# Twenty git clones that learn, contradict, forget and merge at random, in the end all alike: two to five minutes.
team: $(READY)
	$(BIN)/python -m tests.memory.team.simulation $(ARGS)

# MCP servers of npm and PyPI, and the published conformance suite; skipped where a registry is out of reach.
mcp-peers: $(READY)
	$(BIN)/python -m bench.mcp.peers

# Clios killed, files torn, disks filled, eight at once: ten minutes at most. make torture N=100 SECONDS=60
torture: N := 1000
SECONDS := 180
torture: $(READY)
	$(BIN)/python -m torture.kill --runs $(N) --seconds $(SECONDS)
	$(BIN)/python -m torture.tear --seconds $(SECONDS)
	$(BIN)/python -m torture.trouble
	$(BIN)/python -m torture.many --seconds $(SECONDS)

# 2,000 turns of four calls in one clio: what grows, what stays open. Fifteen minutes.
soak: $(READY)
	$(BIN)/python -m bench.limits soak --turns 2000

docs: $(READY)
	$(BIN)/python docs/make_reference.py

# The pictures of docs/tour.md, docs/themes.md and the README, from real sessions with a scripted model.
tour: $(READY)
	$(BIN)/python docs/make_tour.py
	$(BIN)/python docs/make_picture.py
	$(BIN)/python docs/make_themes.py

clean:
	rm -rf $(VENV)

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "clio needs Python 3.11 or later; make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(READY)
