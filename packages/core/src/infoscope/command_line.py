"""How commands are parsed and how they end: input errors are one sentence and exit
status 2.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, TextIO

import click

from infoscope.errors import InvalidInput, Unavailable
from infoscope.names import printable

DEFAULT_PROFILE = "laptop"
# exit statuses
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143


def option(name: str, **settings: Any) -> click.Option:
    """An option --NAME; None if it is not given and has no default."""
    return click.Option([f"--{name}"], **settings)


def profile_option(
    what: str = "smoke, laptop, paper or another of the sweep's",
) -> click.Option:
    """The option --profile."""
    return option(
        "profile", default=DEFAULT_PROFILE, help=f"{what} (default: {DEFAULT_PROFILE})"
    )


def set_option(what: str) -> click.Option:
    """The option --set, a dict of texts."""
    return option(
        "set",
        default="",
        metavar="'NAME=VALUE ...'",
        callback=lambda context, param, text: assignments(text),
        help=what,
    )


def sweep_options() -> list[click.Option]:
    """The options of every sweep: --profile, --set and --gpus-per-pack."""
    return [
        profile_option(),
        set_option("replaces settings of the profile: 'depths=1,2 seeds=0,1'"),
        option(
            "gpus-per-pack",
            type=float,
            metavar="F",
            help="GPUs per trial, fractions allowed (default: 1)",
        ),
    ]


def command(
    name: str,
    call: Callable[..., Any] | str,
    params: Sequence[click.Parameter],
    text: str | None,
) -> click.Command:
    """A command that passes its parameters to `call` as attributes of one object.

    call: a function, or "MODULE:FUNCTION" in a module that is imported when the command
    runs.
    """

    def callback(**values):
        if isinstance(call, str):
            module, name_of_function = call.split(":")
            function = getattr(importlib.import_module(module), name_of_function)
        else:
            function = call
        return function(SimpleNamespace(**values))

    return click.Command(name, params=[*params], callback=callback, help=text)


def run_command(
    command: click.Command, words: Sequence[str] | None = None, name: str | None = None
) -> int:
    """Runs a command with these words (None: of this process); returns its exit status.

    0: success, 1: something failed, 2: bad input or something missing, 130:
    interrupted.
    """
    output = _Output(sys.stdout)
    errors = _Output(sys.stderr)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = _run(command, words, name)
        output.flush()
    return status


class _Output:
    """A stream of text that goes on without effect when its reader has left, as `head`
    does.
    """

    def __init__(self, stream: TextIO):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._unless_closed(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        self._unless_closed(self._stream.flush)

    def _unless_closed(self, call: Callable[..., Any], *arguments: str) -> None:
        try:
            call(*arguments)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())


def _run(command: click.Command, words: Sequence[str] | None, name: str | None) -> int:
    arguments = None if words is None else list(words)
    try:
        return command.main(arguments, name or command.name, standalone_mode=False) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return BAD_INPUT
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else name
        message = f"{error.format_message().rstrip('.')}; see `{where} --help`"
    except click.Abort:  # Ctrl-C
        return INTERRUPTED
    except Exception as error:
        if not _is_expected(error):
            raise
        message = sentence(error)
    print(f"error: {message}", file=sys.stderr)
    return BAD_INPUT


def _is_expected(error: Exception) -> bool:
    """Whether an error is due to the input or the machine, not to a fault of this
    program.
    """
    if isinstance(error, (LookupError, ValueError, OSError, Unavailable)):
        return True
    # if it is not imported, it has raised nothing
    mlflow = sys.modules.get("mlflow.exceptions")
    return mlflow is not None and isinstance(error, mlflow.MlflowException)


def sentence(error: BaseException) -> str:
    """The message of an error in one printable line, without the passwords of
    addresses.
    """
    if isinstance(error, OSError) and error.filename:
        text = f"{error.filename} cannot be used: {error.strerror}"
    elif isinstance(error, KeyError) and error.args:
        text = str(error.args[0])  # without the quotes of `str(error)`
    else:
        text = str(error)
    first = (text.strip() or repr(error)).splitlines()[0]
    return printable(re.sub(r"//[^/?#\s]*@", "//", first))


def assignments(text: str) -> dict[str, str]:
    """ "a=1 b=2,3" as a dict of strings. Raises InvalidInput for a word without "="."""
    pairs = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if not name or not value:
            raise InvalidInput(f"setting must have the form name=value, got {word!r}")
        pairs[name] = value
    return pairs


@contextlib.contextmanager
def ends_with_this(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While inside, SIGTERM ends this process and the other one; Ctrl-C reaches both."""
    earlier = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    except SystemExit:
        process.terminate()
        raise
    except KeyboardInterrupt:
        process.wait()
        raise
    finally:
        signal.signal(signal.SIGTERM, earlier)


def is_taken(port: int) -> bool:
    """Whether a program listens at a port of this machine."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
