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

# Values reach the program unchanged: neither make nor a shell interprets them. Variables about your own file count only
# on the command line of make, not in the environment, where a Y may have another meaning.
ON_FILES := DATA X Y GIVEN TIME SERIES LAGS GROUPS CONTINUOUS DISCRETE ANGLES METHODS TARGET TARGETS FACTORS DOMAIN MODEL PROBABILITIES
SETTINGS := PROFILE SET ARGS PORT
TYPED := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
OTHERS := $(filter-out $(SETTINGS) $(ON_FILES) PYTHON READY SHELL,$(TYPED))
MISTYPED := $(strip $(foreach name,$(OTHERS),$(if $(findstring _,$(name)),,$(name))))
$(if $(MISTYPED),$(error there is no variable $(MISTYPED); there are $(SETTINGS) $(ON_FILES)))
$(foreach name,$(SETTINGS),$(eval override $(name) := $$(value $(name))))
$(foreach name,$(ON_FILES),$(eval override $(name) := $$(if $$(filter $(name),$$(TYPED)),$$(value $(name)))))
export $(SETTINGS) $(ON_FILES) NAME

given = $(if $(value $2),--$1 "$$$2")
INFOSCOPE := $(PYTHON) -m infoscope --words "$$ARGS"
ON_FILE = $(call given,data,DATA) $(call given,x,X) $(call given,y,Y) $(call given,given,GIVEN) $(call given,time,TIME) $(call given,series,SERIES) $(call given,lags,LAGS) $(call given,groups,GROUPS) \
  $(call given,continuous,CONTINUOUS) $(call given,discrete,DISCRETE) $(call given,angles,ANGLES) \
  $(call given,methods,METHODS) $(call given,target,TARGET) \
  $(call given,targets,TARGETS) $(call given,factors,FACTORS) $(call given,domain,DOMAIN)
OF_PROFILE = --profile "$$PROFILE" $(call given,set,SET)
OF_MODEL = $(call given,model,MODEL) $(call given,data,DATA)

# of tests; the command line sets the same
export MLFLOW_DISABLE_TELEMETRY ?= true
export MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR ?= false
export RAY_USAGE_STATS_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: check-dependencies disentangle docs-results golden help labels measure promote represent screen runs-load runs-save setup sweep-all sweep-status sweep-sync report site test test-system test-slow test-gpu bench infra-secrets ui clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-24s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  sweeps: $(shell sed -n 's/^    "\(.*\)": "sweeps\..*/\1/p' sweeps/__init__.py)"
	@echo "  PROFILE=smoke|laptop|paper|...   SET=\"depths=1,2 seeds=0,1\"   INFOSCOPE_DATA=folder of real data"
	@echo "  RAY_ADDRESS, MLFLOW_TRACKING_URI: an existing Ray cluster, an existing MLflow server"

setup: $(READY) ## install everything into .venv (done by every other task when needed)

$(READY): requirements.txt constraints.txt pyproject.toml infra/setup.sh
	@sh infra/setup.sh $(VENV)
	@touch $@

sweep-%: NAME = $*
table-%: NAME = $*

sweep-%: $(READY) ## run a sweep, record it in MLflow, print its table (PROFILE=laptop SET= ARGS="--gpus-per-pack 0.25")
	@$(INFOSCOPE) sweep "$$NAME" $(OF_PROFILE)

sweep-all: $(READY) ## run every sweep and print its table, then one line for each (PROFILE=laptop SET=)
	@$(INFOSCOPE) sweep-all $(OF_PROFILE)

sweep-status: $(READY) ## print how many cells of each sweep are done (PROFILE=laptop SET= ARGS="critic-capacity")
	@$(INFOSCOPE) status $(OF_PROFILE)

sweep-sync: $(READY) ## send the records of ended processes to MLflow and close their runs (ARGS="--records FOLDER")
	@$(INFOSCOPE) sync

runs-save: $(READY) ## save finished cells to a file, as part of the results (ARGS=critic-capacity PROFILE=paper)
	@$(INFOSCOPE) runs-save $(if $(filter PROFILE,$(TYPED)),--profile "$$PROFILE") $(call given,set,SET)

runs-load: $(READY) ## load the runs of such files into the store, where their cells count as done (ARGS=docs/results/runs/FILE)
	@$(INFOSCOPE) runs-load

table-%: $(READY) ## print and save a table, of a sweep from what MLflow holds, or of models (PROFILE=laptop SET= MODEL= DATA= ARGS="--bits 4")
	@$(INFOSCOPE) table "$$NAME" $(OF_PROFILE) $(OF_MODEL)

report: $(READY) ## one page of every table and figure of a profile (PROFILE=laptop)
	@$(INFOSCOPE) report $(OF_PROFILE)

labels: $(READY) ## which labels are wrong, and how many (DATA=tickets.csv X=text TARGET=label; MODEL=folder of an encoder, or PROBABILITIES=p.npz; ARGS="--without hypothesis")
	@$(INFOSCOPE) labels $(ON_FILE) $(call given,model,MODEL) $(call given,probabilities,PROBABILITIES)

measure: $(READY) ## measure your own data (DATA=pairs.csv X=a,b Y=c, or DATA=examples/genes X=g03 Y=phenotype; GROUPS= GIVEN=age,sex TIME=t SERIES=yes LAGS=3 METHODS=ksg,gcmi CONTINUOUS="n*" DISCRETE= ANGLES=hour:24 ARGS="--missing refuse")
	@$(INFOSCOPE) measure $(ON_FILE)

represent: $(READY) ## what a representation holds, where, for whom (DATA=z.csv X="z_y*,z_d*" TARGETS=y DOMAIN= GROUPS= CONTINUOUS= DISCRETE= ANGLES=pose:360 ARGS=--each)
	@$(INFOSCOPE) represent $(ON_FILE)

disentangle: $(READY) ## in which column of a code each factor is (DATA=codes.csv X="z*" FACTORS="scale,shape"; GROUPS= CONTINUOUS= DISCRETE= ARGS=--attack)
	@$(INFOSCOPE) disentangle $(ON_FILE)

screen: $(READY) ## which columns depend on a target, or on each other (DATA=table.csv, or DATA=examples/genes TARGET=phenotype; X="g*,snp2" GIVEN=snp1 GROUPS=household CONTINUOUS= DISCRETE= ANGLES=hour:24 ARGS="--level .1 --rows 2000")
	@$(INFOSCOPE) screen $(ON_FILE)

infra-secrets: ## write random passwords for the MLflow server of infra/mlflow into its .env
	@sh infra/mlflow/secrets.sh

ui: $(READY) ## open the MLflow UI on the runs, on this machine only (PORT=5000)
	@$(INFOSCOPE) ui --port "$$PORT"

site: $(VENV)/.site ## build the site of docs/ into build/site, its tutorials run (3 minutes)
	@NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet --clean -f infra/site/mkdocs.yml
	@echo build/site/index.html

$(VENV)/.site: $(READY) infra/site/requirements.txt infra/site/constraints.txt
	@$(VENV)/bin/uv pip install --quiet --python $(PYTHON) -r infra/site/requirements.txt
	@touch $@

docs-results: $(READY) ## write docs/results from MLflow: tables beside the published, a leaderboard (ARGS="known-laws")
	@$(INFOSCOPE) docs-results

QUICK := not slow and not gpu and not bench

test: $(READY) ## run the tests: offline, 8 minutes on 2 cores
	@$(PYTHON) -m pytest -n 2 --dist loadfile -m "not system and $(QUICK)"

test-system: $(READY) ## run those that need Ray, a server, a browser or the site: 15 minutes on 2 cores
	@$(PYTHON) -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m "system and $(QUICK)"

test-slow: $(READY) ## run the slow checks
	@$(PYTHON) -m pytest -m slow

test-gpu: $(READY) ## run the checks that need a GPU
	@$(PYTHON) -m pytest -m gpu -rs

golden: $(READY) ## compare the tables in runs/tables with those of tests/golden (after make sweep-all PROFILE=smoke)
	@$(PYTHON) -m tests.golden

bench: $(READY) ## measure the speed ratios against straightforward baselines, in one run
	@$(PYTHON) -m pytest -m bench -s tests/benchmarks

promote: $(READY) ## register a logged model as NAME@ALIAS, with a model card (ARGS="RUN_ID --alias champion")
	@$(INFOSCOPE) promote

check-dependencies: $(READY) ## check every pinned package for known vulnerabilities (needs the network)
	@uv=$(VENV)/bin/uv; [ -x $$uv ] || uv=uv; $$uv tool run pip-audit==2.10.1 --strict --no-deps --disable-pip --progress-spinner=off -r constraints.txt

# only what infra/setup.sh makes: a folder in this one that is a virtual environment
clean: ## remove the virtual environment (never the runs)
	@[ ! -e .venv ] && [ ! -L .venv ] && exit 0; \
	if [ -L .venv ] || [ ! -f .venv/pyvenv.cfg ]; then \
	  echo "error: .venv is no virtual environment made by this Makefile; it is not removed" >&2; exit 2; fi; \
	rm -rf .venv
