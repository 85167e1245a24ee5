"""Transformer encoders of texts and their embeddings (the benchmark, sections 4.3 and
D.1).
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoConfig, AutoModel, AutoTokenizer, PretrainedConfig

from infoscope.checks import one_of, require_int
from infoscope.errors import InvalidInput, OutOfRange, TooFew, UnreadableFile, WrongType
from infoscope.models.initialisation import generator_or_default
from infoscope.models.text.subwords import byte_pairs, word_pieces

# encoders of texts that transformers builds from their configuration alone, without a
# download
ARCHITECTURES = (
    "albert", "bert", "bert-generation", "big_bird", "camembert", "convbert", "deberta", "deberta-v2", "distilbert",
    "electra", "ernie", "fnet", "funnel", "gpt2", "longformer", "megatron-bert", "mobilebert", "modernbert", "mpnet",
    "nystromformer", "rembert", "roberta", "roberta-prelayernorm", "roformer", "squeezebert", "xlm-roberta",
    "xlm-roberta-xl", "xlnet", "xmod",
)  # fmt: skip
POOLINGS = ("pooler", "cls", "mean")
_TOKENIZED_TOGETHER = 1024  # texts at a time, as the tokenizer needs much memory

Texts = Sequence[str] | Sequence[tuple[str, str]]
Tokens = tuple[Tensor, Tensor]
"""The token ids and the segments of one text, int64 [length] each."""


class TextEncoder(nn.Module):
    """A transformer of the transformers library with its tokenizer, from texts to
    vectors.

    Created by `pretrained_encoder` or `small_encoder`; rebuilt offline by
    `TextEncoder(**encoder.config)` and `load_state_dict`.

    Parameters
    ----------
    architecture
        The model's configuration with its `model_type`.
    tokenizer
        The JSON of a `tokenizers.Tokenizer`.
    padding
        The id of its padding token.
    pooling
        "pooler", the pooler of the model; "cls", the first token of the last layer;
        "mean" of all tokens.
    max_length
        In tokens.
    generator
        CPU generator of the initial weights; None: seed 0.

    Raises
    ------
    ValueError
        For an unknown or unavailable pooling, sizes out of range, and an architecture
        that is none of ARCHITECTURES or refers to code outside transformers.
    """

    def __init__(
        self,
        architecture: Mapping[str, Any],
        tokenizer: str,
        padding: int,
        pooling: str = "cls",
        max_length: int = 256,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        kind: Any = architecture.get("model_type")
        one_of("architecture", kind, ARCHITECTURES)
        _check_inside(architecture)
        self.config = {
            "architecture": dict(architecture),
            "tokenizer": tokenizer,
            "padding": require_int("padding", padding, 0),
            "pooling": one_of("pooling", pooling, POOLINGS),
            "max_length": require_int("max_length", max_length, 3),
        }
        configuration = AutoConfig.for_model(**architecture)
        with drawing_from(generator_or_default(generator)):
            self.transformer = AutoModel.from_config(
                configuration, trust_remote_code=False
            )
        self.hidden = self.transformer.config.hidden_size
        if pooling == "pooler" and getattr(self.transformer, "pooler", None) is None:
            raise WrongType(
                f'pooling must be "cls" or "mean" for {architecture["model_type"]}, which has no pooler.'
            )
        longest = _longest(self.transformer)
        if max_length > longest:
            raise OutOfRange(
                f"max_length must be at most {longest}, the model's positions, got "
                f"{max_length}."
            )
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self._reads_types = getattr(self.transformer.config, "type_vocab_size", 0) > 1

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        """Vectors [n, hidden] of token ids, their mask (1 a token, 0 padding) and
        segments, all int64 [n, length].
        """
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if self._reads_types and token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        output = self.transformer(**inputs)
        if self.config["pooling"] == "pooler":
            return output.pooler_output
        states = output.last_hidden_state
        if self.config["pooling"] == "cls":
            return states[:, 0]
        weights = attention_mask / attention_mask.sum(1, keepdim=True)
        return (states * weights.unsqueeze(2).to(states.dtype)).sum(1)

    def tokenize(self, texts: Texts) -> dict[str, Tensor]:
        """The arguments of `forward` for texts, or for pairs of texts, padded to the
        longest: int64 on the CPU.
        """
        return self.padded(self.tokens(texts))

    def tokens(self, texts: Texts) -> list[Tokens]:
        """The tokens of texts, or of pairs of texts, each of its own length. Raises
        ValueError for no texts.
        """
        if len(texts) == 0:
            raise TooFew("texts must have at least one text, got none.")
        tokens = []
        for start in range(0, len(texts), _TOKENIZED_TOGETHER):
            chunk = list(texts[start : start + _TOKENIZED_TOGETHER])
            for encoding in self._tokenizer.encode_batch(chunk):
                tokens.append(
                    (torch.tensor(encoding.ids), torch.tensor(encoding.type_ids))
                )
        return tokens

    def padded(self, tokens: Sequence[Tokens]) -> dict[str, Tensor]:
        """The arguments of `forward` for the tokens of some texts, padded to the
        longest.
        """
        ids, segments = map(list, zip(*tokens))
        masks = [torch.ones_like(text_ids) for text_ids in ids]
        return {
            "input_ids": pad_sequence(
                ids, batch_first=True, padding_value=self.config["padding"]
            ),
            "attention_mask": pad_sequence(masks, batch_first=True),
            "token_type_ids": pad_sequence(segments, batch_first=True),
        }

    def embed(self, texts: Texts, batch: int = 64) -> Tensor:
        """Vectors float [n, hidden] of texts or pairs of texts, on the CPU, in
        evaluation mode, without gradients.
        """
        return self.read_out(texts, lambda vectors: vectors, batch)

    @torch.no_grad()
    def read_out(
        self, texts: Texts, read: Callable[[Tensor], Tensor], batch: int = 64
    ) -> Tensor:
        """The output of `read` on the vectors of texts, as `embed`, in batches of texts
        of similar length.
        """
        require_int("batch", batch)
        device = next(self.parameters()).device
        tokens = self.tokens(texts)
        lengths = torch.tensor([len(ids) for ids, _ in tokens])
        order = lengths.argsort(stable=True)
        training = self.training
        self.eval()
        try:
            parts = []
            for rows in order.split(batch):
                padded = self.padded([tokens[row] for row in rows.tolist()])
                inputs = {name: values.to(device) for name, values in padded.items()}
                parts.append(read(self(**inputs)).cpu())
        finally:
            self.train(training)
        return torch.cat(parts)[order.argsort()]


def pretrained_encoder(
    name: str,
    pooling: str = "cls",
    max_length: int = 256,
    revision: str = "main",
    generator: torch.Generator | None = None,
) -> TextEncoder:
    """An encoder of the Hugging Face hub, or of a local folder in its format; float32.

    Only classes of transformers and safetensors are loaded: no code of the repository,
    no pickle.

    Parameters
    ----------
    name
        Such as "bert-base-uncased", or a folder.
    pooling, max_length
        As in `TextEncoder`.
    revision
        A branch, tag or commit.
    generator
        CPU generator of missing weights, usually the pooler's; None: seed 0.

    Raises
    ------
    ValueError
        When name has no such model, safetensors weights, fast tokenizer or padding
        token, and as `TextEncoder`.
    """
    generator = generator_or_default(generator)
    source = {"revision": revision, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **source)
        with drawing_from(generator):
            model = AutoModel.from_pretrained(
                name, use_safetensors=True, dtype=torch.float32, **source
            )
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableFile(
            "name must be a hub model or a folder with a configuration, safetensors "
            "weights and a tokenizer that need "
            f"no code of their own, got {name!r}: {reason}"
        ) from error
    if (
        getattr(tokenizer, "backend_tokenizer", None) is None
        or tokenizer.pad_token_id is None
    ):
        raise WrongType(
            "name must be a model with a fast tokenizer and a padding token, unlike "
            f"{name!r}."
        )
    encoder = TextEncoder(
        _architecture(model.config),
        tokenizer.backend_tokenizer.to_str(),
        tokenizer.pad_token_id,
        pooling,
        max_length,
        generator=generator,
    )
    encoder.transformer.load_state_dict(model.state_dict())
    return encoder.eval()


def small_encoder(
    texts: Texts,
    architecture: str,
    generator: torch.Generator,
    *,
    vocabulary: int = 4000,
    hidden: int = 128,
    layers: int = 2,
    heads: int = 4,
    pooling: str = "cls",
    max_length: int = 64,
) -> TextEncoder:
    """A small untrained encoder, without any download, whose tokenizer is trained on
    the texts.

    Parameters
    ----------
    texts
        Texts or pairs of texts.
    architecture
        "bert" or "distilbert" (lower-case WordPiece) or "roberta" (byte-level BPE).
    generator
        CPU generator of the initial weights.
    vocabulary
        Maximum number of tokens.
    hidden
        Width of the vectors.
    layers, heads
        Layers, and attention heads of each layer.
    pooling, max_length
        As in `TextEncoder`.

    Raises
    ------
    ValueError
        For another architecture, no texts, sizes that are not positive whole numbers,
        hidden not divisible by heads, a pooling that the architecture lacks.
    """
    one_of("architecture", architecture, ("bert", "distilbert", "roberta"))
    if len(texts) == 0:
        raise TooFew("texts must have at least one text, got none.")
    sizes = {
        "vocabulary": vocabulary,
        "hidden": hidden,
        "layers": layers,
        "heads": heads,
        "max_length": max_length,
    }
    for size, value in sizes.items():
        require_int(size, value)
    if hidden % heads:
        raise InvalidInput(
            f"hidden must be divisible by heads = {heads}, got {hidden}."
        )
    sentences = []
    for text in texts:
        sentences += [text] if isinstance(text, str) else text
    roberta = architecture == "roberta"
    tokenizer = (
        byte_pairs(sentences, vocabulary)
        if roberta
        else word_pieces(sentences, vocabulary)
    )
    configuration: dict[str, Any] = {
        "model_type": architecture,
        "vocab_size": tokenizer.get_vocab_size(),
    }
    if architecture == "distilbert":
        configuration |= {
            "dim": hidden,
            "hidden_dim": 4 * hidden,
            "n_layers": layers,
            "n_heads": heads,
        }
    else:
        configuration |= {"hidden_size": hidden, "intermediate_size": 4 * hidden}
        configuration |= {"num_hidden_layers": layers, "num_attention_heads": heads}
    padding = 0
    positions = max_length
    if roberta:
        padding = 1
        positions += 2  # RoBERTa's positions start after the padding id
        configuration |= {"type_vocab_size": 1, "bos_token_id": 0, "eos_token_id": 2}
    configuration |= {"pad_token_id": padding, "max_position_embeddings": positions}
    encoder = TextEncoder(
        configuration,
        tokenizer.to_str(),
        padding,
        pooling,
        max_length,
        generator=generator,
    )
    return encoder.eval()


@contextlib.contextmanager
def drawing_from(
    generator: torch.Generator, device: torch.device | str = "cpu"
) -> Iterator[None]:
    """Seeds torch's global generators from `generator` for a block of code, and
    restores them.
    """
    device = torch.device(device)
    seed = int(torch.randint(2**62, (), generator=generator))
    gpus = []
    if device.type == "cuda":
        gpus.append(
            torch.cuda.current_device() if device.index is None else device.index
        )
    with torch.random.fork_rng(devices=gpus):
        torch.default_generator.manual_seed(seed)
        for gpu in gpus:
            torch.cuda.default_generators[gpu].manual_seed(seed)
        yield


def _architecture(config: PretrainedConfig) -> dict[str, Any]:
    """A model's configuration as plain values, without its source and references to
    code.
    """
    fields = json.loads(json.dumps(config.to_diff_dict()))
    architecture = {}
    for name, value in fields.items():
        if name not in (
            "architectures",
            "dtype",
            "transformers_version",
        ) and not _names_code(name):
            architecture[name] = value
    return architecture


def _check_inside(architecture: Mapping[str, Any]) -> None:
    """ValueError for a configuration with which transformers could download and run
    code.
    """
    for name, value in architecture.items():
        if _names_code(name):
            raise InvalidInput(
                f"architecture must not have {name!r}, which can refer to other code, "
                f"got {value!r}."
            )
        if isinstance(value, Mapping):
            _check_inside(value)


def _names_code(name: str) -> bool:
    return (
        name.startswith("_") or name.endswith("_implementation") or name == "auto_map"
    )


def _longest(transformer: nn.Module) -> int:
    """The largest number of tokens of a model."""
    positions = getattr(
        getattr(transformer, "embeddings", None), "position_embeddings", None
    )
    if not isinstance(positions, nn.Embedding):
        return (
            getattr(transformer.config, "max_position_embeddings", None) or sys.maxsize
        )
    if positions.padding_idx is None:
        return positions.num_embeddings
    # RoBERTa models: positions start after the padding id
    return positions.num_embeddings - positions.padding_idx - 1
