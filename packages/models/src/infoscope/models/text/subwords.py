"""Subword tokenizers trained on a corpus: WordPiece as in BERT, byte-level byte pairs
as in RoBERTa.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)


def word_pieces(texts: Sequence[str], size: int) -> Tokenizer:
    """A lower-case WordPiece tokenizer of at most `size` tokens (more if the characters
    alone are); [PAD] is the first.

    Continuing characters ("##a") are numbered first, so the same texts give the same
    tokenizer.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    continuing: set[str] = set()
    for text in texts:
        normalised = tokenizer.normalizer.normalize_str(text)
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalised):
            continuing.update(word[1:])
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces_of_words = [f"##{character}" for character in sorted(continuing)]
    numbered = marks + pieces_of_words
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=numbered, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    # a new tokenizer of these pieces, in which only the marks are special
    pieces = Tokenizer(models.WordPiece(tokenizer.get_vocab(), unk_token="[UNK]"))
    pieces.normalizer = tokenizer.normalizer
    pieces.pre_tokenizer = tokenizer.pre_tokenizer
    pieces.add_special_tokens(marks)
    pieces.decoder = decoders.WordPiece()
    pieces.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return pieces


def byte_pairs(texts: Sequence[str], size: int) -> Tokenizer:
    """A byte-level BPE tokenizer of at most `size` tokens (at least the 256 bytes and 5
    marks); <pad> is the second.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    return tokenizer
