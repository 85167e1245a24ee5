"""Transformer encoders of texts and their embeddings (the benchmark, sections 4.3 and D.1)."""

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

ARCHITECTURES = (  # encoders of texts that transformers builds from their configuration alone, without a download
    "albert", "bert", "bert-generation", "big_bird", "camembert", "convbert", "deberta", "deberta-v2", "distilbert",
    "electra", "ernie", "fnet", "funnel", "gpt2", "longformer", "megatron-bert", "mobilebert", "modernbert", "mpnet",
    "nystromformer", "rembert", "roberta", "roberta-prelayernorm", "roformer", "squeezebert", "xlm-roberta",
    "xlm-roberta-xl", "xlnet", "xmod",
)  # fmt: skip
POOLINGS = ("pooler", "cls", "mean")

Texts = Sequence[str] | Sequence[tuple[str, str]]
Tokens = tuple[Tensor, Tensor]
"""The token ids and the segments of one text, int64 [length] each."""


class TextEncoder(nn.Module):
    """A transformer of the transformers library with its tokenizer, from texts to vectors.

    Created by `pretrained_encoder` or `small_encoder`; rebuilt offline by `TextEncoder(**encoder.config)` and
    `load_state_dict`.

    architecture  the model's configuration with its `model_type`
    tokenizer     the JSON of a `tokenizers.Tokenizer`
    padding       the id of its padding token
    pooling       "pooler", that of the model; "cls", the first token of the last layer; "mean" of all tokens
    max_length    in tokens

    ValueError for an unknown or unavailable pooling, sizes out of range, and an architecture that is none of
    ARCHITECTURES or refers to code outside transformers.
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
        one_of("architecture", architecture.get("model_type"), ARCHITECTURES)
        _check_inside(architecture)
        self.config = {
            "architecture": dict(architecture),
            "tokenizer": tokenizer,
            "padding": require_int("padding", padding, 0),
            "pooling": one_of("pooling", pooling, POOLINGS),
            "max_length": require_int("max_length", max_length, 3),
        }
        with drawing_from(generator_or_default(generator)):
            self.transformer = AutoModel.from_config(AutoConfig.for_model(**architecture), trust_remote_code=False)
        self.hidden = self.transformer.config.hidden_size
        if pooling == "pooler" and getattr(self.transformer, "pooler", None) is None:
            raise WrongType(f'pooling must be "cls" or "mean" for {architecture["model_type"]}, which has no pooler.')
        if max_length > (longest := _longest(self.transformer)):
            raise OutOfRange(f"max_length must be at most {longest}, the model's positions, got {max_length}.")
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self._reads_types = getattr(self.transformer.config, "type_vocab_size", 0) > 1

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """Vectors [n, hidden] of token ids, their mask (1 a token, 0 padding) and segments, all int64 [n, length]."""
        types = {"token_type_ids": token_type_ids} if self._reads_types and token_type_ids is not None else {}
        output = self.transformer(input_ids=input_ids, attention_mask=attention_mask, **types)
        if self.config["pooling"] == "pooler":
            return output.pooler_output
        if self.config["pooling"] == "cls":
            return output.last_hidden_state[:, 0]
        shares = attention_mask / attention_mask.sum(1, keepdim=True)
        return (output.last_hidden_state * shares.unsqueeze(2).to(output.last_hidden_state.dtype)).sum(1)

    def tokenize(self, texts: Texts) -> dict[str, Tensor]:
        """The arguments of `forward` for texts, or for pairs of texts, padded to the longest: int64 on the CPU."""
        return self.padded(self.tokens(texts))

    def tokens(self, texts: Texts) -> list[Tokens]:
        """The tokens of texts, or of pairs of texts, each of its own length. Raises ValueError for no texts."""
        if len(texts) == 0:
            raise TooFew("texts must have at least one text, got none.")
        found, many = [], 1024  # at a time, as the tokenizer needs much memory
        for start in range(0, len(texts), many):
            encoded = self._tokenizer.encode_batch(list(texts[start : start + many]))
            found += [(torch.tensor(one.ids), torch.tensor(one.type_ids)) for one in encoded]
        return found

    def padded(self, tokens: Sequence[Tokens]) -> dict[str, Tensor]:
        """The arguments of `forward` for the tokens of some texts, padded to the longest."""
        ids, segments = zip(*tokens)
        return {
            "input_ids": pad_sequence(ids, batch_first=True, padding_value=self.config["padding"]),
            "attention_mask": pad_sequence([torch.ones_like(one) for one in ids], batch_first=True),
            "token_type_ids": pad_sequence(segments, batch_first=True),
        }

    def embed(self, texts: Texts, batch: int = 64) -> Tensor:
        """Vectors float [n, hidden] of texts or pairs of texts, on the CPU, in evaluation mode, without gradients."""
        return self.read_out(texts, lambda vectors: vectors, batch)

    @torch.no_grad()
    def read_out(self, texts: Texts, read: Callable[[Tensor], Tensor], batch: int = 64) -> Tensor:
        """The output of `read` on the vectors of texts, as `embed`, in batches of texts of similar length."""
        require_int("batch", batch)
        device, training = next(self.parameters()).device, self.training
        tokens = self.tokens(texts)
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place][0]))
        self.eval()
        try:
            parts = []
            for start in range(0, len(order), batch):
                rows = self.padded([tokens[place] for place in order[start : start + batch]])
                parts.append(read(self(**{name: values.to(device) for name, values in rows.items()})).cpu())
        finally:
            self.train(training)
        return torch.cat(parts)[torch.tensor(order).argsort()]


def pretrained_encoder(
    name: str,
    pooling: str = "cls",
    max_length: int = 256,
    revision: str = "main",
    generator: torch.Generator | None = None,
) -> TextEncoder:
    """An encoder of the Hugging Face hub, such as "bert-base-uncased", or of a local folder in its format; float32.

    Only classes of transformers and safetensors are loaded: no code of the repository, no pickle. revision: a branch,
    tag or commit. Missing weights, usually the pooler's, are drawn from `generator`. ValueError when name has no such
    model, safetensors weights, fast tokenizer or padding token, and as `TextEncoder`.
    """
    generator = generator_or_default(generator)
    source = {"revision": revision, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **source)
        with drawing_from(generator):
            model = AutoModel.from_pretrained(name, use_safetensors=True, dtype=torch.float32, **source)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableFile(
            f"name must be a hub model or a folder with a configuration, safetensors weights and a tokenizer that need "
            f"no code of their own, got {name!r}: {reason}"
        ) from error
    if getattr(tokenizer, "backend_tokenizer", None) is None or tokenizer.pad_token_id is None:
        raise WrongType(f"name must be a model with a fast tokenizer and a padding token, unlike {name!r}.")
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
    """A small untrained encoder, without any download: its tokenizer is trained on the texts (or pairs of texts).

    architecture: "bert" or "distilbert" (lower-case WordPiece) or "roberta" (byte-level BPE). vocabulary: maximum
    number of tokens; hidden: width of the vectors. ValueError for another architecture, no texts, sizes that are not
    positive whole numbers, hidden not divisible by heads, a pooling that the architecture lacks.
    """
    one_of("architecture", architecture, ("bert", "distilbert", "roberta"))
    if len(texts) == 0:
        raise TooFew("texts must have at least one text, got none.")
    sizes = {"vocabulary": vocabulary, "hidden": hidden, "layers": layers, "heads": heads, "max_length": max_length}
    for size, value in sizes.items():
        require_int(size, value)
    if hidden % heads:
        raise InvalidInput(f"hidden must be divisible by heads = {heads}, got {hidden}.")
    single = [text for one in texts for text in ((one,) if isinstance(one, str) else one)]
    tokenizer = byte_pairs(single, vocabulary) if architecture == "roberta" else word_pieces(single, vocabulary)
    plain: dict[str, Any] = {"model_type": architecture, "vocab_size": tokenizer.get_vocab_size()}
    if architecture == "distilbert":
        plain |= {"dim": hidden, "hidden_dim": 4 * hidden, "n_layers": layers, "n_heads": heads}
    else:
        plain |= {"hidden_size": hidden, "intermediate_size": 4 * hidden}
        plain |= {"num_hidden_layers": layers, "num_attention_heads": heads}
    padding = 0
    if architecture == "roberta":
        padding = 1
        plain |= {"type_vocab_size": 1, "bos_token_id": 0, "eos_token_id": 2}
    # RoBERTa's positions start after the padding id
    plain |= {"pad_token_id": padding, "max_position_embeddings": max_length + (2 if architecture == "roberta" else 0)}
    return TextEncoder(plain, tokenizer.to_str(), padding, pooling, max_length, generator=generator).eval()


@contextlib.contextmanager
def drawing_from(generator: torch.Generator, device: torch.device | str = "cpu") -> Iterator[None]:
    """Seeds torch's global generators from `generator` for a block of code, and restores them."""
    device = torch.device(device)
    seed = int(torch.randint(2**62, (), generator=generator))
    lent = [torch.cuda.current_device() if device.index is None else device.index] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=lent):
        torch.default_generator.manual_seed(seed)
        for index in lent:
            torch.cuda.default_generators[index].manual_seed(seed)
        yield


def _architecture(config: PretrainedConfig) -> dict[str, Any]:
    """A model's configuration as plain values, without its source and references to code."""
    plain = json.loads(json.dumps(config.to_diff_dict()))
    outside = ("architectures", "dtype", "transformers_version")
    return {name: value for name, value in plain.items() if name not in outside and not _names_code(name)}


def _check_inside(architecture: Mapping[str, Any]) -> None:
    """ValueError for a configuration with which transformers could download and run code."""
    for name, value in architecture.items():
        if _names_code(name):
            raise InvalidInput(f"architecture must not have {name!r}, which can refer to other code, got {value!r}.")
        if isinstance(value, Mapping):
            _check_inside(value)


def _names_code(name: str) -> bool:
    return name.startswith("_") or name.endswith("_implementation") or name == "auto_map"


def _longest(transformer: nn.Module) -> int:
    """The largest number of tokens of a model."""
    positions = getattr(getattr(transformer, "embeddings", None), "position_embeddings", None)
    if not isinstance(positions, nn.Embedding):
        return getattr(transformer.config, "max_position_embeddings", None) or sys.maxsize
    # RoBERTa models: positions start after the padding id
    return positions.num_embeddings - (0 if positions.padding_idx is None else positions.padding_idx + 1)
