# The verbs of the project. Each does the set-up it needs, and none when nothing has changed.

SHELL := /bin/sh
VENV := .venv
SOURCES_OF_BUILD := pyproject.toml setup.py tools/setup.sh $(wildcard src/groundspeed/native/*.[ch])
.PHONY: demo test test-k8s check bench bench-fidelity bench-provoked bench-verdict docs lock clean

demo: $(VENV)/.ready-run  ## Measure PostgreSQL on three storage backends and report.
	$(VENV)/bin/groundspeed run quick --yes

# While types are checked on one core, pytest rewrites its asserts on another: once, not in each process.
# What cannot be collected is told by the run itself.
test: $(VENV)/.ready-dev  ## Lint, types and all tests.
	@$(MAKE) --no-print-directory -j 2 check tests-rewritten
	$(VENV)/bin/pytest -n 4 --dist worksteal

.PHONY: tests-rewritten
tests-rewritten: $(VENV)/.ready-dev
	@$(VENV)/bin/pytest --collect-only -qq >/dev/null || true

test-k8s: $(VENV)/.ready-dev  ## Tests on a real Kubernetes: that of KUBECONFIG, or one that is started here.
	tools/test_k8s.sh

check: $(VENV)/.ready-dev  ## Lint and types.
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/.ready-bench  ## Print the figures groundspeed itself must reach.
	$(VENV)/bin/python -m bench

bench-fidelity: $(VENV)/.ready-bench  ## Print how right emulated storage is, and how near to published curves.
	@failed=0; for part in "fidelity" "published gp3 longhorn redis" "probed_disk"; do \
	  $(VENV)/bin/python -m bench.$$part || failed=1; done; exit $$failed

bench-provoked: $(VENV)/.ready-dev  ## Provoke each bottleneck over and over, see whether it is named, and cure it.
	$(VENV)/bin/python -m bench.provoked

# Long ones print what was recorded; MEASURE=--measure takes two and a half hours to measure them anew.
bench-verdict: $(VENV)/.ready-bench  ## Print how often verdicts are wrong, and what they take.
	@failed=0; for part in size power patience coverage "alike $(MEASURE)" "agreement $(MEASURE)" \
	  $(if $(MEASURE),"matrix early runs/verdict" "matrix truth runs/verdict --minutes 60",matrix); do \
	  echo; echo "== $$part"; $(VENV)/bin/python -m bench.verdict.$$part || failed=1; done; exit $$failed

docs: $(VENV)/.ready-run  ## Write the suite reference and the rendered example for Kubernetes.
	$(VENV)/bin/python tools/suite_reference.py > docs/suite.md
	$(VENV)/bin/groundspeed k8s render deploy/kustomize/base/suite.yaml --run-id nightly \
	  > deploy/kustomize/base/run.yaml

lock: $(VENV)/.ready-dev  ## Choose versions anew: names, versions and hashes, nothing else.
	tools/lock.sh

clean:  ## Remove what set-up and tests made; results in runs/ stay.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  src/groundspeed.egg-info src/groundspeed/native/bin

$(VENV)/.ready-%: requirements/%.txt $(SOURCES_OF_BUILD)
	tools/setup.sh $*
