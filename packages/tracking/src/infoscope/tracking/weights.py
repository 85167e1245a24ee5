"""The files of a model: safetensors weights and a typed configuration, never a pickle.

A model is a `torch.nn.Module` of the `infoscope` namespace with a `config` of plain
values, from which its class and `load_state_dict` rebuild it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infoscope.files import json_object
from infoscope.tracking.aliases import MOVED
from infoscope.tracking.checks import undamaged

if TYPE_CHECKING:  # imported when a model is written or read, because it takes seconds
    import torch

# tensor elements that the construction of any model may allocate
MIN_ALLOCATION = 10**6
# elements it may allocate per element of the stored weights; ours need up to 3.1
MAX_ALLOCATION_RATIO = 4
OUTPUT = "output"  # name of a module's output, next to the names of its blocks
EXAMPLE = "example.npz"


def write_model(
    module: torch.nn.Module, example: Mapping[str, np.ndarray], folder: Path
) -> None:
    """Writes model.json, weights.safetensors and the input example (argument name ->
    array, 1-2 rows) to a folder.

    Raises TypeError for a module that could not be loaded again.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    kind = type(module)
    _model_class(kind.__module__, kind.__qualname__)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.detach().cpu().contiguous()
        for name, tensor in module.state_dict().items()
    }
    try:
        save_file(weights, folder / "weights.safetensors")
    except SafetensorError as error:  # on a full disk
        raise OSError(str(error)) from error
    np.savez(folder / EXAMPLE, **example)
    predicted = predict(module, example)
    outputs = {
        name: {"dtype": str(array.dtype), "dimensions": array.ndim}
        for name, array in predicted.items()
    }
    description = {
        "module": kind.__module__,
        "class": kind.__qualname__,
        "config": module.config,
        "output": outputs if len(outputs) > 1 else outputs[OUTPUT],
    }
    (folder / "model.json").write_text(json.dumps(description, indent=2))


def read_model(folder: Path) -> torch.nn.Module:
    """The model of a folder, in evaluation mode on the CPU. ValueError: damaged;
    TypeError: not infoscope's.
    """
    from safetensors.torch import load_file

    file = folder / "model.json"
    stored = folder / "weights.safetensors"
    with undamaged(file, "the description of a model"):
        description = json_object(file.read_text())
        kind = _model_class(description["module"], description["class"])
    with undamaged(stored, f"the complete weights of a {kind.__name__}"):
        weights = load_file(stored)
    elements = sum(tensor.numel() for tensor in weights.values())
    with (
        undamaged(file, "the description of a model of the size of its weights"),
        limit_allocations(MIN_ALLOCATION + MAX_ALLOCATION_RATIO * elements),
        _offline(),
    ):
        module = kind(**description["config"])
    with undamaged(stored, f"the complete weights of a {kind.__name__}"):
        module.load_state_dict(weights)
    return module.eval()


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """While inside, no request is sent to the Hugging Face hub, which would see the
    user's token.
    """
    # of a model that does not use it, nothing is sent
    hub: Any = sys.modules.get("huggingface_hub.constants")
    before = getattr(hub, "HF_HUB_OFFLINE", True)
    if hub is not None:
        hub.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        if hub is not None:
            hub.HF_HUB_OFFLINE = before


@contextlib.contextmanager
def limit_allocations(elements: int) -> Iterator[None]:
    """Raises ValueError once torch has allocated more than this many tensor elements in
    all.

    A model description from an untrusted source could otherwise request more memory
    than the machine has.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Limit(TorchDispatchMode):
        left = elements

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            options = kwargs or {}
            inputs = tensors((args, options))
            # a factory function: counted on the meta device first
            if not inputs and "device" in options:
                self.count(function(*args, **options | {"device": "meta"}), inputs)
                return function(*args, **options)
            output = function(*args, **options)
            self.count(output, inputs)
            return output

        def count(self, output: Any, inputs: list[torch.Tensor]) -> None:
            storages = {tensor.untyped_storage()._cdata for tensor in inputs}
            for tensor in tensors(output):
                if tensor.untyped_storage()._cdata not in storages:
                    self.left -= max(1, tensor.numel())
            if self.left < 0:
                raise ValueError(
                    "its settings describe a model several times larger than the "
                    "stored weights"
                )

    def tensors(tree: Any) -> list[torch.Tensor]:
        return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]

    with Limit():
        yield


def _model_class(module: str, name: str) -> type[torch.nn.Module]:
    import torch

    module = MOVED.get(module, module)
    if not module.startswith("infoscope."):
        raise TypeError(
            f"model class {module}.{name} is outside the infoscope namespace; only "
            "its classes are logged and loaded"
        )
    if "__" in module:
        # importing a __main__ would run it
        raise TypeError(f"{module} must be a module with model classes")
    kind = getattr(importlib.import_module(module), name, None)
    if not (
        isinstance(kind, type)
        and issubclass(kind, torch.nn.Module)
        and kind.__module__ == module
    ):
        raise TypeError(
            f"{module}.{name} is not a torch module class; only infoscope's model "
            "classes are logged and loaded"
        )
    return kind


def predict(
    module: torch.nn.Module, inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The output of a module, and the means of its latent blocks by name, from arrays
    by argument name.
    """
    import torch

    device = next((parameter.device for parameter in module.parameters()), None)
    tensors = {
        name: torch.as_tensor(values, device=device) for name, values in inputs.items()
    }
    with torch.no_grad():
        predicted = {OUTPUT: module(**tensors)}
        # a method, not a submodule of this name
        if callable(getattr(type(module), "blocks", None)):
            blocks: Any = module.blocks
            for name, block in blocks(**tensors).items():
                predicted[name] = block.mean
    return {name: values.cpu().numpy() for name, values in predicted.items()}
