"""The public names: documented, typed, and used on the pages as their types say."""

import importlib.util
import inspect
import subprocess
import sys

import pytest

from infoscope.estimators.neural.training import Training, fit_critic
from infoscope.models.text.classifier import ClassifierTraining, fine_tune
from infoscope.models.vae.training import VaeTraining, fit_vae
from infra.site import api
from tests.test_documents import REPOSITORY, SHOWN, arrays, blocks

NAMES = [
    (package, name, thing)
    for package, names in api.public()
    for name, thing in names.items()
]
# that use no more than our names
SHOWN_PAGES = ("block", "compare", "estimate", "own-estimator", "sweep", "trust")
OF_CRITICS = '"curve" for class "Estimate"'  # an attribute of what some methods return


def test_every_public_name_has_a_first_sentence():
    assert len(NAMES) > 250
    for package, name, thing in NAMES:
        assert len(api.line(thing)) > 3, (package, name)


def test_every_public_function_and_method_is_typed():
    for package, name, thing in NAMES:
        methods = vars(thing).items() if inspect.isclass(thing) else ()
        own_methods = []
        for of, one in methods:
            if inspect.isfunction(one) and of == one.__name__ and (of[0] != "_"):
                own_methods.append((of, one))
        for of, function in [(name, thing)] * inspect.isfunction(thing) + own_methods:
            missing = []
            for one in inspect.signature(function).parameters.values():
                if one.annotation is one.empty and one.name != "self":
                    missing.append(one.name)
            assert not missing and "return" in inspect.get_annotations(function), (
                package,
                name,
                of,
                missing,
            )


# settings of the method that is named; arguments by their names
OPEN = ("estimate", "normalised", "finite")


def test_public_functions_show_their_arguments():
    """`**settings` hides them from help() and from editors; its errors name those of a
    method.
    """
    for package, name, thing in NAMES:
        if inspect.isfunction(thing) and package.startswith(
            ("infoscope.estimators", "infoscope.metrics", "infoscope.models")
        ):
            kinds = [one.kind for one in inspect.signature(thing).parameters.values()]
            assert inspect.Parameter.VAR_KEYWORD not in kinds or name in OPEN, (
                package,
                name,
            )


@pytest.mark.parametrize(
    "function, training",
    [(fit_critic, Training), (fit_vae, VaeTraining), (fine_tune, ClassifierTraining)],
)
def test_a_function_that_trains_has_the_defaults_of_its_training(function, training):
    shown = inspect.signature(function).parameters
    for name, one in inspect.signature(training).parameters.items():
        if one.kind is one.KEYWORD_ONLY:
            assert (shown[name].default, shown[name].annotation) == (
                one.default,
                one.annotation,
            ), name


@pytest.mark.system
@pytest.mark.skipif(
    importlib.util.find_spec("pyright") is None, reason="pyright is not installed"
)
def test_types_are_those_that_the_pages_use(tmp_path):
    """pyright, basic: every name resolves, and what README and the pages show fits its
    types.
    """
    declarations = "from typing import Any\n\n" + "".join(
        f"{name}: Any = ...\n" for name in arrays()
    )
    shown = {one.id: declarations + one.values[0] for one in SHOWN}
    for name in SHOWN_PAGES:
        shown[name] = "\n".join(
            blocks(REPOSITORY / "docs" / "tutorials" / f"{name}.md", " exec.*?")
        )
    for place, code in enumerate(shown.values()):
        (tmp_path / f"shown_{place}.py").write_text(code)
    stubs = sorted(REPOSITORY.glob("packages/*/src/infoscope/**/*.pyi"))
    words = [
        sys.executable,
        "-m",
        "pyright",
        "--pythonpath",
        sys.executable,
        *stubs,
        *sorted(tmp_path.glob("*.py")),
    ]
    done = subprocess.run(
        list(map(str, words)), cwd=REPOSITORY, capture_output=True, text=True
    )
    errors = []
    for line in done.stdout.splitlines():
        if " error: " in line and OF_CRITICS not in line:
            errors.append(line)
    assert not errors and " warning" in done.stdout, (
        errors,
        done.stdout[-500:],
        done.stderr,
        list(shown),
    )
