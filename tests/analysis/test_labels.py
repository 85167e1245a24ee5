"""The command that finds wrong labels in a person's own files: what it reads, writes
and refuses.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import labels
from analysis.common.own_data import read_labels
from infoscope.command_line import run_command
from infoscope.errors import InfoscopeError
from tests.analysis.commands import recorded, written

N = 240
WORDS = {
    "bill": ("invoice", "refund", "card", "vat"),
    "bug": ("crash", "error", "screen", "slow"),
}
COMMON = ("please", "help", "now", "today", "the", "my")


@pytest.fixture
def here(empty_folder):
    """Tickets of two classes, 12 of them with the other label, with two empty texts,
    and files of probabilities.
    """
    rng = np.random.default_rng(0)
    truth = rng.choice(list(WORDS), N)
    texts = [
        " ".join(
            [*rng.choice(COMMON, 4), *rng.choice(WORDS[label], rng.integers(1, 4))]
        )
        for label in truth
    ]
    noisy = truth.copy()
    noisy[:12] = np.where(truth[:12] == "bug", "bill", "bug")
    texts[30:32] = ["", "NULL"]
    frame = pd.DataFrame(
        {
            "text": texts,
            "queue": noisy,
            "size": (truth == "bug") + 0.1 * rng.normal(size=N),
        }
    )
    frame.assign(author=np.arange(N) // 2).to_csv("tickets.csv", index=False)
    q = np.where(truth[:, None] == ["bill", "bug"], 0.98, 0.02)
    np.savez("p.npz", probabilities=q, classes=["bill", "bug"], fold=np.arange(N) % 4)
    pd.DataFrame(q, columns=["bill", "bug"]).assign(queue=noisy).to_csv(
        "p.csv", index=False
    )
    lines = [{"label": label, "text": text, "options": dict(zip(("bill", "bug"), np.log(row)))}
             for label, text, row in zip(noisy, texts, q)]  # fmt: skip
    Path("p.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return empty_folder


def run(line):
    return run_command(labels.COMMAND, line.split())


COLUMNS = "--data tickets.csv --target queue"


def test_a_table_of_suspects_a_figure_a_page_and_one_run(here, capsys):
    assert run(f"{COLUMNS} --x text --groups author") == 0
    printed, errors = capsys.readouterr()
    assert " of 238 labels are wrong (95 %: " in printed.partition("\n")[0]
    assert "2 rows with missing values left out" in errors
    written("labels-tickets", ".png", ".pdf", ".html", ".tex")
    (path,) = Path("runs/tables").glob("labels-tickets-????????-suspects.csv")
    suspects = pd.read_csv(path, comment="#")
    assert sorted(suspects["row"][:12]) == list(range(1, 13))
    assert len(suspects) == 238
    assert set(suspects["item"][0].split()) <= {*COMMON, *WORDS["bill"], *WORDS["bug"]}
    assert 6 <= recorded("labels").data.metrics["wrong labels"] <= 18


@pytest.mark.parametrize(
    "words",
    [
        f"{COLUMNS} --x text,size",
        f"{COLUMNS} --x s*",
        f"{COLUMNS} --probabilities p.npz",
        f"{COLUMNS} --x text --probabilities p.npz",
        "--probabilities p.csv --target queue",
        "--probabilities p.jsonl",
    ],
    ids=["both", "numbers", "npz", "npz and texts", "csv", "jsonl"],
)
def test_every_input_finds_the_wrong_labels(here, words, monkeypatch):
    reports = []
    monkeypatch.setattr(
        labels, "conclude_report", lambda *arguments: reports.append(arguments[3])
    )
    assert run(words) == 0
    (report,) = reports
    assert report.wrong.low <= 12 <= report.wrong.high
    assert set(report.suspects["row"][:12]) == set(range(1, 13))


REFUSED = {
    "nothing": ("", "DATA must name"),
    "no target": ("--data tickets.csv", "TARGET must name"),
    "unknown": (f"{COLUMNS} --x txt", "did you mean text"),
    "target in x": (f"{COLUMNS} --x text,queue", "X must name"),
    "no column without": (
        f"{COLUMNS} --x text --without hypothesis",
        "without must name",
    ),
    "no labels": ("--probabilities p.npz", "TARGET must name"),
    "short": (
        "--data p.csv --target queue --probabilities short.npz",
        "PROBABILITIES must have a row",
    ),
    "no options": (
        "--probabilities bad.jsonl",
        "bad.jsonl, line 1, must be a JSON object",
    ),
    "other options": (
        "--probabilities other.jsonl",
        "line 2, must be a JSON object",
    ),
    "no json": ("--probabilities damaged.jsonl", "line 1, must be a JSON object"),
    "empty": ("--probabilities empty.jsonl", "must have lines"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_sentence(here, name, capsys):
    words, sentence = REFUSED[name]
    np.savez("short.npz", probabilities=np.full((3, 2), 0.5))
    (here / "bad.jsonl").write_text('{"label": "a"}\n')
    (here / "empty.jsonl").write_text("\n")
    line = {"label": "a", "options": {"a": -1, "b": -1}}
    other = line | {"options": {"a": -1, "c": -1}}
    (here / "other.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(other)}\n")
    (here / "damaged.jsonl").write_text("{\n")
    assert run(words) == 2
    errors = capsys.readouterr().err
    assert sentence in errors
    assert errors.count("error:") == 1
    assert "Traceback" not in errors


def test_categories_and_arrays_are_columns(here):
    labelled = read_labels(
        here / "tickets.csv", ["author", "size"], "queue", discrete=["author"]
    )
    assert labelled.x.select_dtypes("number").columns.tolist() == ["size"]
    assert labelled.n == N
    assert labelled.texts[0] == "0"
    assert labelled.rows.tolist() == list(range(N))
    with pytest.raises(InfoscopeError):
        read_labels(here / "tickets.csv", ["text"], "queue", "text")


def test_a_folder_of_an_encoder(here, monkeypatch):
    """A tiny untrained one, saved as transformers save it; nothing is downloaded."""
    transformers = pytest.importorskip("transformers", reason="the extra `torch`")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS["bug"]]
    (here / "vocab.txt").write_text("\n".join(vocabulary))
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": 8,
    }
    config = transformers.BertConfig(vocab_size=len(vocabulary), **sizes)
    transformers.BertModel(config).save_pretrained(here / "model")
    transformers.BertTokenizerFast(str(here / "vocab.txt")).save_pretrained(
        here / "model"
    )
    model, tokenizer = labels.encoder(str(here / "model"))
    assert model.config.hidden_size == 8
    assert tokenizer("crash")["input_ids"]


@pytest.mark.parametrize(
    "column, heading",
    [
        (None, "row"),
        ("T{}", "ticket"),
        ("a" * 50 + "{}", "row"),
        ("T{}, unless 3", "row"),
    ],
)
def test_a_column_without_repeats_names_the_items(here, column, heading):
    """A short one; else rows are counted from 1."""
    frame = pd.read_csv("tickets.csv")
    if column is not None:
        names = [column.format(row) for row in range(N)]
        if "unless" in column:
            names[4] = names[3]
        frame.insert(0, "ticket", names)
    frame.to_csv("named.csv", index=False)
    data = read_labels(here / "named.csv", ["text"], "queue")
    assert data.heading == heading
    assert data.names[0] == ("T0" if heading == "ticket" else 1)
    assert len(data.names) == 238
