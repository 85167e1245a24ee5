"""The tokenizers trained on a corpus."""

import hashlib
import subprocess
import sys

import pytest

from infoscope.models.text import subwords
from infoscope.models.text.subwords import byte_pairs, word_pieces

TEXTS = [
    f"The {adjective} {noun}, {adverb} told."
    for adjective in ("dullest", "brightest", "oldest", "newest")
    for noun in ("film", "play", "songbook")
    for adverb in ("slowly", "finely", "boldly")
]


# the module alone: transformers, which its package imports, takes seconds
PROGRAM = f"""import hashlib, runpy
space = runpy.run_path({subwords.__file__!r})
for name in ("byte_pairs", "word_pieces"):
    print(hashlib.sha256(space[name]({TEXTS!r}, 300).to_str().encode()).hexdigest())
"""


def test_the_same_texts_give_the_same_tokenizer_in_another_process():
    """The library's own trainer of word pieces numbers them differently in every
    process.
    """
    other = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    ).stdout.split()
    texts = [train(TEXTS, 300).to_str() for train in (byte_pairs, word_pieces)]
    assert other == [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def test_a_piece_written_out_in_a_text_is_not_taken_for_the_piece():
    tokenizer = word_pieces(TEXTS, 300)
    assert tokenizer.token_to_id("##d") is not None
    assert "##d" not in tokenizer.encode("the ##d").tokens


def test_byte_pairs_spell_any_text():
    tokenizer = byte_pairs(TEXTS, 300)
    encoded = tokenizer.encode("The Ω film\n")
    assert encoded.tokens[0] == "<s>"
    assert encoded.tokens[-1] == "</s>"
    assert tokenizer.decode(encoded.ids) == "The Ω film\n"
    assert tokenizer.token_to_id("<pad>") == 1


def test_word_pieces_are_marked_lower_case_and_complete():
    tokenizer = word_pieces(TEXTS, 300)
    assert tokenizer.encode("The FILM").tokens == ["[CLS]", "the", "film", "[SEP]"]
    assert tokenizer.encode("the Ω").tokens == ["[CLS]", "the", "[UNK]", "[SEP]"]
    assert tokenizer.token_to_id("[PAD]") == 0
    pieces = tokenizer.encode("filmbook").tokens[1:-1]
    assert pieces[0] == "film"
    assert "".join(pieces).replace("##", "") == "filmbook"
    assert tokenizer.decode(tokenizer.encode("the filmbook").ids) == "the filmbook"


@pytest.mark.parametrize(
    "train, size, separator, count",
    [(word_pieces, 80, "[SEP]", 2), (byte_pairs, 280, "</s>", 3)],
)
def test_a_pair_of_texts_has_a_mark_between(train, size, separator, count):
    tokenizer = train(TEXTS, size)
    assert tokenizer.get_vocab_size() == size
    assert tokenizer.encode("the film", "the play").tokens.count(separator) == count
