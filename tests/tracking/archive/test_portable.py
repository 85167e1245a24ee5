"""No folder, user or password of the machine that made a file of runs is in it."""

import json

from infoscope.tracking.archive.portable import portable_source, without_folders

CUT = {
    "-m sweeps.a.b --profile laptop": "-m sweeps.a.b --profile laptop",
    "/home/mary/x/run.py --to=~/out/here a": "run.py --to=here a",
    "in bits/nats, 1 / 2, and/or/not": "in bits/nats, 1 / 2, and/or/not",
    "https://docs.example/a/b?c=/d": "https://docs.example/a/b?c=/d",
    "https://mary:word@git.example/a/b": "https://git.example/a/b",
    "file:///home/mary/d.npz": "d.npz",
    r"C:\Users\mary\d.npz, 'D:/data/e.npz'": "d.npz, 'e.npz'",
    "s3://bucket/a/b": "s3://bucket/a/b",
    "see (/data/mary/a.txt)": "see (a.txt)",
}


def test_only_the_last_name_of_a_path_is_saved():
    for text, cut in CUT.items():
        assert without_folders(text) == cut
        assert without_folders(cut) == cut


def test_the_source_of_a_data_set_is_cut_whatever_its_path_has_in_it():
    for url, cut in (
        ("/home/mary shelley/my data/d.npz", "d.npz"), ("~/d/", "d"), ("file:/x/y", "y"), ("MNIST", "MNIST"),
        (r"C:\a b\c.csv", "c.csv"), ("http://example.org/a/b.gz", "http://example.org/a/b.gz"),
    ):  # fmt: skip
        assert json.loads(portable_source(json.dumps({"url": url}))) == {"url": cut}
    assert portable_source("from /a/b/c") == "from c"
    assert portable_source('["/a/b/c"]') == '["c"]'
