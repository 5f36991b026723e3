"""Every file that says which versions the book needs says the same."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name


@pytest.fixture(scope="module")
def root(pytestconfig):
    return pytestconfig.rootpath


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_pinned_environment_lies_within_the_bounds(root, project):
    lines = (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if "==" in line]
    versions = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}
    extras = project["optional-dependencies"].values()
    for bound in map(Requirement, project["dependencies"] + [one for extra in extras for one in extra]):
        if bound.name != project["name"]:
            assert versions[canonicalize_name(bound.name)] in bound.specifier, bound


def test_python_is_the_same_everywhere(root, project):
    supported = SpecifierSet(project["requires-python"])
    named = [one.rpartition(" ")[2] for one in project["classifiers"] if " Python :: " in one]
    lowest = named[0]
    assert supported == SpecifierSet(f">={lowest}")
    workflow = (root / ".github/workflows/book.yml").read_text(encoding="utf-8")
    assert re.findall(r'python-version: "(.+)"', workflow) == [lowest]
    assert f"python-{lowest}+" in (root / "README.md").read_text(encoding="utf-8")
    assert f"< ({lowest.replace('.', ', ')})" in (root / "Makefile").read_text(encoding="utf-8")


def test_binder_takes_what_the_package_asks_for(root, project):
    binder = yaml.safe_load((root / ".binder/environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (python,) = (one.removeprefix("python=") for one in binder if one.startswith("python="))
    assert python in SpecifierSet(project["requires-python"])
    (torch,) = (Requirement(one).specifier for one in binder if "torch" in one)
    assert torch == next(Requirement(one).specifier for one in project["dependencies"] if one.startswith("torch"))
