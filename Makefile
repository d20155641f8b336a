# `make help` lists the targets. They use a venv of their own in .venv, which is made anew when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup run test test-fast every-case slow-tests check lint types generated package pre-commit fuzz fuzz-commands \
	fuzz-scripts found-commands starts bench peers year team mcp-peers conformance language-servers torture torture-sync soak \
	reference docs tour clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r name text; do \
		printf '  %-16s %s\n' "$$name" "$$text"; done

setup: $(READY) ## create .venv with clio and everything its tests need

run: $(READY) ## start clio: make run ARGS='-p "where is the retry policy?"'
	$(BIN)/clio $(ARGS)

test: $(READY) ## run the tests, samples of the long ones: make test T=tests/config
	$(BIN)/python -m pytest $(T)

test-fast: $(READY) ## run the tests that take less than 0.05 s each: about a minute on two cores
	$(BIN)/python -m pytest -m fast -n 2 $(T)

slow-tests: $(READY) ## measure all tests and write tests/slow_tests.txt and tests/long_tests.txt
	$(BIN)/python -m pytest -n 2 --every-case --durations=0 --durations-min=0.01 > durations.txt; true
	$(BIN)/python -m tests.support.slow_tests durations.txt

check: lint types generated ## what must pass before a change is proposed: lint, types, generated pages, all tests
	$(BIN)/python -m pytest

lint: $(READY) ## ruff: lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY) ## pyright: types
	$(BIN)/pyright --pythonpath $(BIN)/python

generated: $(READY) ## check that tables and pages generated from the code are up to date
	$(BIN)/python docs/make_reference.py --check

package: $(READY) ## build sdist and wheel into dist/, install the wheel alone and ask one question with it
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m tests.support.try_wheel dist

pre-commit: ## run the hooks of .pre-commit-config.yaml on all files; needs the program pre-commit
	pre-commit run --all-files

every-case: $(READY) ## all tests and all their cases; `make test` takes samples of the long ones
	$(BIN)/python -m pytest --every-case

fuzz: $(READY) ## property tests with many more examples, and every case of sampled tests; takes long
	$(BIN)/python -m pytest -m "hypothesis or sampled" --hypothesis-profile=fuzz --timeout=3600 $(T)

fuzz-commands: $(READY) ## random command lines against what clio says they run: make fuzz-commands N=100000 SEED=1
	$(BIN)/python -m tests.security.command_fuzz $(or $(N),20000) $(or $(SEED),0)
	$(BIN)/python -m tests.security.command_options_fuzz $(or $(N),30000) $(or $(SEED),0)

fuzz-scripts: $(READY) ## random scripts of sed, awk, jq, find, tar …: make fuzz-scripts N=3000 LANGUAGES="sed awk"
	$(BIN)/python -m tests.security.script_fuzz $(or $(N),1000) $(or $(SEED),0) $(LANGUAGES)

found-commands: $(READY) ## the same with the shell scripts of this machine: make found-commands N=12000 IN="/usr /etc"
	$(BIN)/python -m tests.security.command_found $(or $(N),12000) $(or $(IN),/usr /etc)

starts: $(READY) ## starts in a terminal with typing and resizing at random times: make starts N=200 SEED=0
	$(BIN)/python -m tests.entrypoints.test_starts $(or $(N),150) $(or $(SEED),0)

bench: $(READY) ## every benchmark of bench/, one after the other
	for file in bench/*.py; do echo "== $$file"; $(BIN)/python "$$file" || exit 1; done

peers: $(READY) ## clio beside the agents installed here: two minutes with one, half an hour with all
	$(BIN)/python bench/peers.py --runs 5 --turns 500 --files 20000 --chart docs/peers.svg $(ARGS)

year: $(READY) ## a year of work day by day, and its curves: make year ARGS='--sessions 60'
	$(BIN)/python -m bench.year $(ARGS)

team: $(READY) ## twenty git clones that learn, contradict, forget and merge at random
	$(BIN)/python -m tests.memory.team.simulation $(ARGS)

team-server: $(READY) ## a team's memory in PostgreSQL: a million memories, 50 writers, kills, a fail-over; half an hour
	$(BIN)/python -m bench.team_server $(ARGS)

torture-team-server: $(READY) ## kill -9 of PostgreSQL and clio while 50 members write, and a fail-over; two minutes
	$(BIN)/python -m bench.team_server --only kills,failover $(ARGS)

mcp-peers: $(READY) ## MCP servers of npm and PyPI
	$(BIN)/python -m bench.mcp.peers

language-servers: $(READY) ## tests with the real pyright and typescript-language-server, which npm installs into build/
	npm install --no-audit --no-fund --prefix build/language-servers typescript-language-server typescript@5
	PATH="$(CURDIR)/build/language-servers/node_modules/.bin:$$PATH" \
		$(BIN)/python -m pytest tests/lsp tests/turns/test_code_lookup.py
	PATH="$(CURDIR)/build/language-servers/node_modules/.bin:$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m bench.language_servers

conformance: $(READY) ## the published MCP conformance suite, on both sides
	$(BIN)/python -m bench.mcp.suite

torture: N := 1000
SECONDS := 180
torture: $(READY) ## clios killed, files torn, disks filled, eight at once: make torture N=100 SECONDS=60
	$(BIN)/python -m torture.kill --runs $(N) --seconds $(SECONDS)
	$(BIN)/python -m torture.tear --seconds $(SECONDS)
	$(BIN)/python -m torture.trouble
	$(BIN)/python -m torture.many --seconds $(SECONDS)

torture-sync: $(READY) ## 20 machines that synchronize their memory at random, with kill -9: make torture-sync SEED=1
	$(BIN)/python -m torture.sync --seed $(or $(SEED),1)
	$(BIN)/python -m torture.sync --seed $(or $(SEED),1) --machines 5 --encrypt

soak: $(READY) ## 2,000 turns in one clio: what grows, what stays open; fifteen minutes
	$(BIN)/python -m bench.limits soak --turns 2000

reference: $(READY) ## write the tables and pages generated from the code
	$(BIN)/python docs/make_reference.py

docs: reference ## build the documentation as a site in build/site; a broken link or anchor is an error
	$(BIN)/python -c 'import material' 2>/dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

tour: $(READY) ## draw the pictures of the documentation from real sessions with a scripted model
	$(BIN)/python docs/make_tour.py
	$(BIN)/python docs/make_picture.py
	$(BIN)/python docs/make_themes.py

clean: ## remove .venv, dist and build
	rm -rf $(VENV) dist build

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "clio needs Python 3.11 or later; make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(READY)
