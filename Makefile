# The commands of this repository; what they do is in tools/. `make` alone lists them.
PYTHON ?= python3
BOOK := .venv-book/bin/python
RUN := .venv/bin/python
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help book serve test test-slurm check format outputs run full new bench site clean env env-book env-models

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

book: env-book ## build the HTML book from the stored outputs, in _build/html
	@$(BOOK) -m tools.build_book

serve: book ## build the book and serve it on this machine (PORT=8000)
	@$(BOOK) -m tools.serve $(if $(PORT),--port $(PORT))

test: ## all tests: checks, unit, contract, notebooks at smoke scale, papermill, book, browser
	@$(PYTHON) -m tools.env test --browser
	@$(RUN) -m tools.suite

check: env ## format, lint, pairing and freshness, in seconds
	@$(RUN) -m tools.check

format: env ## mend what `make check` says about format
	@$(RUN) -m ruff format -q . && $(RUN) -m ruff check -q --fix .

outputs: $(if $(filter full,$(SCALE)),env,env-models) ## bring stored outputs up to date, executing what is stale (CHAPTER=, FORCE=1; SCALE=full takes over full records)
	@$(RUN) -m tools.outputs --chapter "$(CHAPTER)" --scale "$(or $(SCALE),book)" $(if $(filter-out 0 no,$(FORCE)),--force)

run: $(if $(filter smoke,$(SCALE)),env,env-models) ## run chapters: CHAPTER=bep SCALE=smoke|book|full (SEED= SEEDS=0-3 DEVICE= SET="field=value, ..." PROFILE= LIMIT=)
	@$(RUN) -m tools.run --chapter "$(CHAPTER)" --scale "$(or $(SCALE),book)" --seed "$(SEED)" --seeds "$(SEEDS)" \
	  --device "$(DEVICE)" --set "$(SET)" --profile "$(PROFILE)" --limit "$(or $(LIMIT),0)"

full: ## run chapters at full scale within MINUTES=, the most valuable first (CHAPTER="bep ...")
	@scripts/full_run.sh "$(or $(MINUTES),60)" $(CHAPTER)

new: env ## lay down a new chapter from the template: CHAPTER=slug
	@$(RUN) -m tools.new_chapter "$(CHAPTER)"

test-slurm: env ## a sweep through a Slurm of its own on this machine (Debian: slurm-wlm munge)
	@$(RUN) -m pytest -p no:cacheprovider tests/slurm

bench: env ## measure a chapter's core against the best peer: CHAPTER=bep
	@$(RUN) -m tools.bench "$(CHAPTER)"

site: env ## change the repository's address everywhere: URL=https://github.com/OWNER/NAME
	@$(RUN) -m tools.site "$(URL)"

clean: ## remove what was built, not the environments
	@rm -rf _build book/_generated runs/test .pytest_cache .ruff_cache

env:
	@$(PYTHON) -m tools.env test

env-models:
	@$(PYTHON) -m tools.env models

env-book:
	@$(PYTHON) -m tools.env book
