"""Exports a logged model as a torch.export program, which runs without infoscope.

`make export-model ARGS=RUN` adds it to the artifacts of the run as an MLflow model. `mlflow models serve` needs mlflow,
numpy and torch for it; `torch.export.load` of `artifacts/program.pt2` needs torch only. Serving executes the copy of
`serving` and can unpickle: only serve programs of people you trust.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.export import Dim, ExportedProgram

from infoscope.tracking.checks import first_line, plain_name
from infoscope.tracking.models import downloaded, logged_model, model_files, versions
from infoscope.tracking.store import connect, tracking_uri
from infoscope.tracking.weights import read_model

FOLDER = "programs"  # in the artifacts of a run
_FILE = "program.pt2"
_TRACED_ROWS, _COMPARED_ROWS = 3, 5  # torch.export would treat 1 row as a constant


def export(run_id: str, name: str | None = None) -> str:
    """Exports a logged model to the artifacts of its run; returns the address `runs:/RUN/programs/NAME`.

    name: of the model, if the run has several. An earlier program is replaced. Raises LookupError when the run has no
    such model, TypeError for a model that is not infoscope's, ValueError if it cannot be exported for any number of
    rows.
    """
    from mlflow.models import Model

    name = plain_name("the name of a model", logged_model(run_id, name).name)
    with downloaded(run_id, name) as folder, tempfile.TemporaryDirectory() as made:
        module, logged = read_model(model_files(folder)), Model.load(folder)
        _write_program(module, logged.load_input_example(folder), logged.signature, Path(made) / name)
        connect(tracking_uri()).log_artifacts(run_id, str(Path(made) / name), f"{FOLDER}/{name}")
    return f"runs:/{run_id}/{FOLDER}/{name}"


def _write_program(module: torch.nn.Module, example: Mapping[str, np.ndarray], signature: object, folder: Path) -> None:
    from mlflow import pyfunc

    with tempfile.TemporaryDirectory() as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about weights that are views, and type hints
        path = Path(made) / _FILE
        torch.export.save(program(module, example), path)
        pyfunc.save_model(
            str(folder),
            python_model=str(Path(__file__).with_name("serving.py")),
            artifacts={"program": str(path)},
            signature=signature,
            input_example=dict(example),
            pip_requirements=versions("mlflow", "numpy", "torch"),
        )


def program(module: torch.nn.Module, example: Mapping[str, np.ndarray]) -> ExportedProgram:
    """The forward pass in evaluation mode for any number of rows, and for token ids [n, length] of any length.

    example: argument name -> array of at least one row. Raises ValueError if it cannot be exported, or if its output
    differs from the module's for another number of rows. Values are not validated.
    """
    kind = type(module).__name__
    given = rows(example, _TRACED_ROWS)
    is_tokens = {name: values.dim() == 2 and not values.is_floating_point() for name, values in given.items()}
    shapes = {name: {0: Dim.DYNAMIC} | ({1: Dim.AUTO} if is_tokens[name] else {}) for name in given}
    try:
        exported = torch.export.export(module, (), given, dynamic_shapes=shapes)
    except Exception as error:  # of many classes, most of them private
        raise ValueError(f"torch.export cannot export a {kind}: {first_line(error)}") from error
    others = rows(example, _COMPARED_ROWS)
    with torch.no_grad():
        ours, theirs = module(**others), exported.module()(**others)
    if not torch.allclose(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True):
        raise ValueError(
            f"the output of the exported {kind} differs by {(ours - theirs).abs().max():.2g} for {_COMPARED_ROWS} rows"
        )
    return exported


def rows(example: Mapping[str, np.ndarray], n: int) -> dict[str, Tensor]:
    """The arrays of an example, repeated or cut to n rows."""
    return {name: torch.as_tensor(np.resize(values, (n, *values.shape[1:]))) for name, values in example.items()}
