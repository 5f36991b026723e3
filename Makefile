# Everything runs in .venv, made on first use. Each target's commands also work by hand, with .venv/bin in the PATH.
PYTHON ?= python3
PORT ?= 8000

export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: html book pdf lab test outputs student teacher bench links clean

# Build the book, and the lecture's slides beside it; a warning or a failing notebook is an error.
define build
jupyter-book build . -W -n --keep-going
python -m booksite.slides
endef

html: .venv/ready
	$(build)

# Build it and show it on this machine.
book: html
	python -m booksite.serve $(PORT)

# The whole book on paper, in _build/book.pdf.
pdf: html
	python -m booksite.pdf

# The chapters as notebooks.
lab: .venv/ready
	jupyter lab book

# One thread for each of pytest's processes: they share the processors already.
test: export OMP_NUM_THREADS = 1
test: .venv/ready
	ruff check .
	ruff format --check .
	pytest -n auto --ignore tests/site
	pytest -n auto --dist loadfile --nbval book
	$(build)
	pytest -n auto tests/site

# Run the chapters and store in them what the tests compare. After editing a chapter.
outputs: .venv/ready
	python -m booksite.outputs book/*.ipynb

# Notebooks to hand out, into _build: for students without the solutions, for teachers with them.
student: only = --TagRemovePreprocessor.enabled=True --TagRemovePreprocessor.remove_cell_tags=solution
student teacher: .venv/ready
	jupyter nbconvert --log-level ERROR --to notebook --ClearOutputPreprocessor.enabled=True $(only) --output-dir _build/$@ book/[0-9]*.ipynb

# Every external link, asked over the network. Built first, so that no notebook is run for it.
links: html
	jupyter-book build . --builder linkcheck --keep-going

bench: .venv/ready
	python tests/bench.py

clean:
	rm -rf _build

.venv/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, and $(PYTHON) is %d.%d: make PYTHON=python3.12 ..." % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	.venv/bin/pip install -r requirements.txt
	touch $@
