# The two commands are `make demo` and `make test`; each sets up what it needs first.
PY      ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.ready
export UV_LINK_MODE := copy
# Where it is set, every process of the tests would rewrite the assertions of every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup install demo check test soak test-agents agents agents-latest bench bench-history mutants system clean docs

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock tools/setup.sh
	@tools/setup.sh "$(PY)" "$(VENV)"
	@touch $@

system:
	@tools/system.sh

# Only `ralph` comes onto PATH: its environment has a pytest and a ruff that are not your project's.
install:
	@tools/install.sh "$(PY)" "$(VENV)"

demo: setup
	@$(BIN)/ralph demo
	@echo "use it in your own projects: make install    (or: uv tool install . · pipx install .)"

check: setup
	@tools/check.sh

agents: setup
	@$(BIN)/python tools/agents/install.py --main

# What is fetched comes at the same time: packages of the system and of Python, then the agents.
test:
	@$(MAKE) --no-print-directory -j2 setup system agents
	@tools/check.sh ralph
	@$(BIN)/pytest -n 5 --dist worksteal -m "slow and not soak and not agents" tests

# Everything: whole matrices and crash points, other examples, all fake greens and the benches. For a night.
soak: setup system agents
	@tools/system.sh bindfs:bindfs
	@$(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile search -m "not agents" tests
	@$(BIN)/python bench/fakegreen/run.py
	@$(BIN)/python bench/run.py

# What the real CLIs do beyond one success and one fault each, further CLIs, and compiled languages: half an hour.
test-agents: setup system agents
	@$(BIN)/python tools/agents/install.py opencode copilot qwen aider mini
	@$(BIN)/pytest -n 2 --dist worksteal -m "agents" tests

agents-latest: setup
	@$(BIN)/python tools/agents/latest.py

bench: setup system
	@$(BIN)/python bench/run.py

# Downloads releases of public projects into a cache, and takes an hour or two.
bench-history: setup system
	@$(BIN)/python bench/history/run.py

mutants: setup
	@tools/mutants.sh

docs: setup
	@$(BIN)/python tools/man.py
	@$(BIN)/cog -r -I tools $$(git ls-files '*.md' | xargs grep -l '\[\[\[cog' || true)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis mutants
