"""What every numbered chapter owes its readers: a quick check, hints in two steps, solutions that can be taken out."""

import importlib.metadata
import json
import re
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BOOK = Path(__file__).parents[1] / "book"
CHAPTERS = sorted(BOOK.glob("[0-9][0-9]-*.ipynb"))

QUESTION = re.compile(r"^\*\*\d\. (.+)\*\*$", re.M)
OPTION = re.compile(r"^```\{dropdown\} ([A-D]) · (.+)\n(?s:(.+?))\n```$", re.M)
EXERCISE = re.compile(r"^```\{exercise\} .+\n:label: (\S+)\n", re.M)
IMPORT = re.compile(r"^\s*(?:from|import) (\w+)", re.M)
HINTS = re.compile(r"\A\n+```\{dropdown\} Hint 1\n(.+?)\n```\n+```\{dropdown\} Hint 2\n(.+?)\n```\s*\Z", re.S)


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def sources(path, kind):
    return ["".join(cell["source"]) for cell in cells(path) if cell["cell_type"] == kind]


def markdown(path):
    return sources(path, "markdown")


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request):
    return request.param


def quick_check(chapter):
    """[(question, [(letter, option, explanation), …]), …]"""
    text = "\n\n".join(markdown(chapter))
    assert text.count("\n## Quick check\n") == 1
    section = text.split("\n## Quick check\n")[1].split("\n## ")[0]
    _, *parts = QUESTION.split(section)
    questions, bodies = parts[::2], parts[1::2]
    assert section.count("{dropdown}") == sum(len(OPTION.findall(body)) for body in bodies), "an option in another form"
    return [(question, OPTION.findall(body)) for question, body in zip(questions, bodies, strict=True)]


def test_a_quick_check_has_one_right_option_and_a_reason_for_each(chapter):
    questions = quick_check(chapter)
    assert len(questions) >= 2
    for question, options in questions:
        letters, _, explanations = zip(*options, strict=True)
        assert letters == tuple("ABCD"[: len(options)]), question
        assert len(options) >= 3, question
        starts = [re.match(r"(✓ Right|Not so): \S.{20,}", text, re.S) for text in explanations]
        assert all(starts), question
        assert [start[1] for start in starts].count("✓ Right") == 1, question


def test_the_right_option_has_no_letter_of_its_own():
    letters = [
        letter
        for chapter in CHAPTERS
        for _, options in quick_check(chapter)
        for letter, _, text in options
        if text.startswith("✓")
    ]
    assert all(letters.count(letter) > len(letters) / 6 for letter in "ABC"), letters


def test_each_exercise_has_two_hints(chapter):
    texts = [text for text in markdown(chapter) if "```{exercise}" in text]
    assert len(texts) >= 3
    for text in texts:
        (label,) = EXERCISE.findall(text)
        after = text[EXERCISE.search(text).start() :].split("\n```", 1)[1]
        hints = HINTS.match(after)
        assert hints, f"{label}: two hints must follow, and nothing else"
        assert all(len(hint) > 40 for hint in hints.groups()), label


def test_each_exercise_says_how_hard_and_how_long_it_is(chapter):
    titles = re.findall(r"```\{exercise\} (.+)", "\n".join(markdown(chapter)))
    assert all(re.search(r" · (★☆☆|★★☆|★★★), \d+ minutes( or more)?$", title) for title in titles)


def test_a_chapter_opens_with_goals_minutes_and_what_it_needs(chapter):
    head = markdown(chapter)[0]
    assert "**You will be able to**" in head
    assert re.search(r"Time: about \d+ minutes; exercises \d+ minutes\. You need ", head)


def test_the_time_for_exercises_is_that_of_all_three(chapter):
    text = "\n".join(markdown(chapter))
    stated = int(re.search(r"exercises (\d+) minutes", text)[1])
    assert stated == sum(int(minutes) for minutes in re.findall(r"\{exercise\} .+, (\d+) minutes", text))


def test_all_of_a_solution_is_tagged_so_that_it_can_be_taken_out(chapter):
    inside = False
    for cell in cells(chapter):
        text = "".join(cell["source"])
        inside = inside or "{solution-start}" in text
        assert ("solution" in cell["metadata"].get("tags", [])) == inside, text[:60]
        inside = inside and "{solution-end}" not in text
    assert not inside


# How a chapter runs anywhere: the one cell that may use the network, and only where the package is missing.
FETCH = """\
# Colab and the like: install the package where it is missing. pip leaves alone
# what is there and new enough, so that Colab keeps its own torch.
import importlib.util

if importlib.util.find_spec("topiclens") is None:
    %pip install -q "{requirement}\""""


def requirement(chapter):
    """What `chapter` installs where the package is missing, from the repository that _config.yml names."""
    repository = yaml.safe_load((BOOK.parent / "_config.yml").read_text(encoding="utf-8"))["repository"]
    extras = "notebook,text" if chapter.stem == "09-real-text" else "notebook"
    return f"topiclens[{extras}] @ git+{repository['url']}@{repository['branch']}"


def test_a_chapter_brings_the_package_along(chapter):
    opening, fetch = cells(chapter)[:2]
    assert opening["cell_type"] == "markdown"
    assert fetch["cell_type"] == "code"
    assert "".join(fetch["source"]) == FETCH.format(requirement=requirement(chapter))
    assert fetch["metadata"]["tags"] == ["remove-cell"], "the site does not show it"


def test_the_package_is_fetched_only_where_it_is_missing(chapter, monkeypatch):
    calls = []
    kernel = SimpleNamespace(run_line_magic=lambda *call: calls.append(call))
    code = TransformerManager().transform_cell(sources(chapter, "code")[0])
    exec(code, {"get_ipython": lambda: kernel})
    assert calls == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    exec(code, {"get_ipython": lambda: kernel})
    assert calls == [("pip", f'install -q "{requirement(chapter)}"')]


def test_what_a_chapter_imports_comes_with_the_package(chapter):
    project = tomllib.loads((BOOK.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = list(project["dependencies"])
    for extra in Requirement(requirement(chapter)).extras:
        wanted += project["optional-dependencies"][extra]
    brought = {canonicalize_name(Requirement(one).name) for one in wanted}
    names = set(IMPORT.findall("\n".join(sources(chapter, "code")))) - sys.stdlib_module_names
    packages = importlib.metadata.packages_distributions()
    missing = {name for name in names if not brought & {canonicalize_name(one) for one in packages.get(name, [])}}
    assert missing <= {"topiclens", "IPython"}, "the latter is what runs the chapter"
