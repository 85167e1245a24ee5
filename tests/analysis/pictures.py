"""What a result shows: whether a figure was saved, and the numbers of a text."""

import re

from PIL import Image


def drawn(saved):
    """Whether a result was saved with a figure, which both of its files then show: more
    than one shade, one page.
    """
    if saved.png is None and saved.pdf is None:
        return False
    with Image.open(saved.png) as picture:
        darkest, lightest = picture.convert("L").getextrema()
    page = saved.pdf.read_bytes()
    return (
        darkest < lightest
        and page.startswith(b"%PDF-")
        and page.count(b"/Type /Page ") == 1
    )


def numbers(text):
    """The numbers of a text in their order, those with thousands separators whole."""
    return [
        float(one.replace(",", ""))
        for one in re.findall(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?", text)
    ]
