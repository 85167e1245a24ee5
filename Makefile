# Every task a person runs. `make help` lists them.

PROFILE ?= laptop
SET ?=
ARGS ?=
PORT ?= 5000
ifeq ($(origin VENV),command line)
$(error VENV cannot be given: the virtual environment is .venv in this folder)
endif
override VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready

# Of what is on a person's own file, what is written behind make and not what the environment happens to hold: a Y is
# anybody's.
written = $(if $(filter command,$(origin $1)),$(value $1))
override GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))

# What a person gives reaches Python in the environment, as it is: neither make nor a shell reads it as a program.
override PROFILE := $(value PROFILE)
override SET := $(value SET)
override ARGS := $(value ARGS)
override PORT := $(value PORT)
override WRITTEN := DATA X Y GROUPS CONTINUOUS DISCRETE ANGLES METHODS PEERS TARGETS DOMAIN ITEMS MODEL
$(foreach name,$(WRITTEN),$(eval override $(name) := $$(call written,$(name))))
# a target with brackets is to make an archive and its member
override TASK = $@$(if $%,($%))
export GIVEN PROFILE SET ARGS PORT TASK $(WRITTEN)
ASKED := $(PYTHON) -m infoscope make

# of tests; the command line sets the same
export MLFLOW_DISABLE_TELEMETRY ?= true
export MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR ?= false
export RAY_USAGE_STATS_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: check-dependencies advise docs-results export-model golden help measure peers promote represent runs-load runs-save setup sweep-all sweep-status sweep-sync table-partition table-representations report audit site test test-system test-slow test-gpu bench drill scale infra-secrets ui clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-24s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  sweeps: $(subst _,-,$(notdir $(basename $(shell grep -l '^SWEEP = ' sweeps/*/*.py))))"
	@echo "  PROFILE=smoke|laptop|paper|...   SET=\"depths=1,2 seeds=0,1\"   INFOSCOPE_DATA=folder of real data"
	@echo "  RAY_ADDRESS, MLFLOW_TRACKING_URI: an existing Ray cluster, an existing MLflow server"

setup: $(READY) ## install everything into .venv (done by every other task when needed)

$(READY): requirements.txt constraints.txt $(wildcard packages/*/pyproject.toml) infra/setup.sh
	@sh infra/setup.sh $(VENV)
	@touch $@

sweep-%: $(READY) ## run a sweep, record it in MLflow, print its table (PROFILE=laptop SET= ARGS="--gpus-per-pack 0.25")
	@$(ASKED)

sweep-all: $(READY) ## run every sweep and print its table, then a line for each (PROFILE=laptop SET=)
	@$(ASKED)

sweep-status: $(READY) ## show how many cells of each sweep are done (PROFILE=laptop SET= ARGS="critic-capacity")
	@$(ASKED)

sweep-sync: $(READY) ## send what dead processes left behind, close their runs (ARGS="--records FOLDER")
	@$(ASKED)

runs-save: $(READY) ## finished cells as a file, to keep beside the results (ARGS=critic-capacity PROFILE=paper)
	@$(ASKED)

runs-load: $(READY) ## add the runs of such files to the store: their cells count as done (ARGS=docs/results/runs/FILE)
	@$(ASKED)

table-representations: $(READY) ## what logged models hold, in one table (MODEL=a run, address or name, with DATA=items.npz)
	@$(ASKED)

table-partition: $(READY) ## how cleanly logged models part class and domain (MODEL=address or name, with DATA=items.npz)
	@$(ASKED)

table-%: $(READY) ## print and save a table, of a sweep from what MLflow holds (PROFILE=laptop ARGS="--bits 4")
	@$(ASKED)

report: $(READY) ## one page of every table and figure of a profile (PROFILE=laptop)
	@$(ASKED)

measure: $(READY) ## measure your own data (DATA=pairs.csv X=a,b Y=c GROUPS= METHODS=ksg,gcmi CONTINUOUS="n*" DISCRETE= ANGLES=hour:24 ARGS=--list)
	@$(ASKED)

advise: $(READY) ## the former name of measure, which it runs (its variables are those of measure)
	@$(ASKED)

represent: $(READY) ## what a representation holds, where, for whom (DATA=z.csv X="z_y*,z_d*" TARGETS=y DOMAIN= GROUPS= ITEMS= CONTINUOUS= DISCRETE= ANGLES=pose:360 ARGS=--each)
	@$(ASKED)

audit: $(READY) ## put estimators of MI, ours and installed ones, through what must not change an estimate
	@$(ASKED)

peers: $(READY) ## install public estimators of MI to compare with into .peers, 3 GB (PEERS="npeet-plus ennemi")
	@$(PYTHON) -m infra.peers

infra-secrets: ## write random passwords for the MLflow server of infra/mlflow into its .env
	@sh infra/mlflow/secrets.sh

ui: $(READY) ## open the MLflow UI on the runs, on this machine only (PORT=5000)
	@$(ASKED)

site: $(VENV)/.site ## build the site of docs/ into build/site, its tutorials run (3 minutes)
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet --clean -f infra/site/mkdocs.yml
	@echo build/site/index.html

$(VENV)/.site: $(READY) infra/site/requirements.txt infra/site/constraints.txt
	@$(VENV)/bin/uv pip install --quiet --python $(PYTHON) -r infra/site/requirements.txt
	@touch $@

docs-results: $(READY) ## write docs/results from MLflow: tables beside the published, a leaderboard (ARGS="known-laws")
	@$(ASKED)

QUICK := not slow and not gpu and not bench

test: $(READY) ## run the tests: offline, 8 minutes on 2 cores
	@$(PYTHON) -m pytest -n 2 --dist loadfile -m "not system and $(QUICK)"

test-system: $(READY) ## run those that need Ray, a server, a browser or the site: 15 minutes on 2 cores
	@$(PYTHON) -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m "system and $(QUICK)"

test-slow: $(READY) ## run the slow checks
	@$(PYTHON) -m pytest -m slow

test-gpu: $(READY) ## run the checks that need a GPU
	@$(PYTHON) -m pytest -m gpu -rs

golden: $(READY) ## compare the tables in runs/tables with those of v0.1.0 (after make sweep-all PROFILE=smoke)
	@$(PYTHON) -m tests.golden

drill: $(READY) ## strike sweeps by real faults and check that nothing is lost (ARGS="--rounds 5 --faults driver,server")
	@$(ASKED)

scale: $(READY) ## measure how time and memory grow with rows, columns, cells, nodes (ARGS="--parts rows,cells --limit 60")
	@$(ASKED)

bench: $(READY) ## measure the speed ratios against straightforward baselines, in one run
	@$(PYTHON) -m pytest -m bench -s tests/benchmarks

export-model: $(READY) ## a logged model as a program to serve without infoscope (ARGS="RUN_ID --model NAME")
	@$(ASKED)

promote: $(READY) ## a logged model as NAME@ALIAS, with a card (ARGS="RUN_ID --alias champion")
	@$(ASKED)

check-dependencies: $(READY) ## ask a vulnerability service about every pinned package (needs the network)
	@$(PYTHON) infra/check_dependencies.py $(VENV)/bin/uv constraints.txt

# only what infra/setup.sh makes: a folder here, with the file by which Python knows a virtual environment
clean: ## remove the virtual environment (never the runs)
	@[ ! -e .venv ] && [ ! -L .venv ] && exit 0; \
	if [ -L .venv ] || [ ! -f .venv/pyvenv.cfg ]; then \
	  echo "error: .venv is no virtual environment that was made here; it is left alone" >&2; exit 2; fi; \
	rm -rf .venv
