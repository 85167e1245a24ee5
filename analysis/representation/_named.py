"""Models by the names of torchvision and transformers, and those in folders, as models that have blocks or vectors."""

from pathlib import Path
from typing import NamedTuple

import torchvision
from torch import Tensor, nn

from infoscope.tracking import load_model


class Block(NamedTuple):
    """Values [n, d] of items, without a posterior."""

    mean: Tensor
    scale: Tensor | None = None


class Layers(nn.Module):
    """A network of images as blocks: each of its direct children, averaged over places. Grey images become colour."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def blocks(self, images: Tensor) -> dict[str, Block]:
        """Child -> [n, channels] of images [n, 1 or 3, height, width], shares of 1, scaled as ImageNet's."""
        found: dict[str, Block] = {}

        def hear(name: str):
            def keep(module: nn.Module, inputs: tuple, output: Tensor) -> None:
                found[name] = Block(output.flatten(2).mean(2) if output.dim() > 2 else output)

            return keep

        mean, scale = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        hooks = [child.register_forward_hook(hear(name)) for name, child in self.network.named_children()]
        try:
            self.network(torchvision.transforms.functional.normalize(images.expand(-1, 3, -1, -1), mean, scale))
        finally:
            for hook in hooks:
                hook.remove()
        return found


class Vectors(nn.Module):
    """A transformer of texts: the mean of its last hidden states over the tokens of a text."""

    def __init__(self, name: str) -> None:
        from transformers import AutoModel, AutoTokenizer

        super().__init__()
        self.tokenizer, self.network = (
            kind.from_pretrained(name, trust_remote_code=False) for kind in (AutoTokenizer, AutoModel)
        )

    def embed(self, texts: list) -> Tensor:
        """Float [n, hidden] of texts, or of pairs of them."""
        sides = zip(*texts) if isinstance(texts[0], tuple) else (texts,)
        tokens = self.tokenizer(*map(list, sides), padding=True, truncation=True, return_tensors="pt")
        hidden = self.network(**tokens.to(self.network.device)).last_hidden_state
        kept = tokens["attention_mask"][..., None].to(hidden)
        return (hidden * kept).sum(1) / kept.sum(1)


def named_model(name: str) -> nn.Module:
    """A logged model, a torchvision network, or a transformer of the Hugging Face hub or a folder; no code of the hub.

    LookupError where there is none, or its weights are not available.
    """
    if (Path(name) / "model.json").exists():
        return load_model(name)
    try:
        if name in torchvision.models.list_models(module=torchvision.models):
            return Layers(torchvision.models.get_model(name, weights="DEFAULT")).eval()
        return Vectors(name).eval()
    except (OSError, ValueError) as error:
        raise LookupError(
            f"MODEL must be a run, an MLflow address, a folder, or a name of torchvision or Hugging Face whose weights "
            f"can be read, got {name!r}: {str(error).splitlines()[0]}"
        ) from None
