"""Arguments that the light command line and the programs behind it both read."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from infoscope.errors import InvalidInput

DEFAULT_PROFILE = "laptop"
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit statuses


def add_profile(parser: argparse.ArgumentParser, profiles: Iterable[str] = ()) -> None:
    """Adds --profile and --set; profiles: the names that are known to be valid."""
    valid = f"one of {', '.join(profiles)}" if profiles else "smoke, laptop, paper or another of the sweep's"
    parser.add_argument("--profile", default=DEFAULT_PROFILE, help=f"{valid} (default: {DEFAULT_PROFILE})")
    parser.add_argument(
        "--set",
        default="",
        metavar="'NAME=VALUE ...'",
        help="settings of the profile to replace, such as 'depths=1,2 seeds=0,1'",
    )


def add_sweep_options(parser: argparse.ArgumentParser, profiles: Iterable[str] = ()) -> None:
    """Adds the options of a sweep."""
    add_profile(parser, profiles)
    parser.add_argument(
        "--gpus-per-pack",
        type=float,
        metavar="F",
        help="of every trial on a GPU: a fraction or a whole number (default: measured before the sweep begins)",
    )


def assignments(text: str) -> dict[str, str]:
    """ "a=1 b=2,3" as a dict of texts. Raises ValueError on a word without "="."""
    pairs = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise InvalidInput(f"setting {word!r} is not of the form name=value")
        pairs[name] = value
    return pairs
