#!/bin/sh
# Chooses versions for requirements/*.txt. Run from the project's directory, by `make lock`.
# The files name versions and hashes only: where packages come from is the machine's business.
set -eu

.venv/bin/python -m pip install --quiet --disable-pip-version-check pip-tools

compile() {
    output=requirements/$1.txt
    shift
    .venv/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
        --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
        "$@" --output-file "$output" requirements/build.in pyproject.toml
}

compile run --extra postgres --extra kubernetes
# The other two hold the same versions as the first.
compile dev --extra postgres --extra kubernetes --extra dev --constraint requirements/run.txt
compile bench --extra postgres --extra kubernetes --extra bench --constraint requirements/run.txt
