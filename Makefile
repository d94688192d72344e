# Each target sets up its own environment first, in .venv. Without make, the same is
#   python3 .ci/environment.py run          (Windows: py .ci\environment.py run)
# ARGS are handed on:  make run ARGS='show "..."'      make test ARGS="-k roofline"

PYTHON ?= python3
ARGS ?=

.PHONY: run test lint bench fuzz screenshots pictures elsewhere coverage mutants setup lock clean

run test lint bench fuzz screenshots pictures elsewhere coverage mutants setup:
	@"$(PYTHON)" .ci/environment.py $@ $(ARGS)

lock:
	@"$(PYTHON)" .ci/lock.py $(ARGS)

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
	find pdviz tests resources -name __pycache__ -type d -prune -exec rm -rf {} +
