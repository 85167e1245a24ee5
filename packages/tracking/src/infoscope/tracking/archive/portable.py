"""What a file of runs holds of tags and data sets: no names of machines, folders and
users, no passwords.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from mlflow.utils.mlflow_tags import (
    MLFLOW_GIT_COMMIT,
    MLFLOW_RUN_NAME,
    MLFLOW_SOURCE_NAME,
)

from infoscope.tracking.checks import without_password
from infoscope.tracking.tags import CELL, CONSTANTS, DATA, PROFILE, VERSION

# that a file holds
_MLFLOW_TAGS = {MLFLOW_RUN_NAME, MLFLOW_SOURCE_NAME, MLFLOW_GIT_COMMIT, CELL, CONSTANTS}
_OWN_TAGS = {PROFILE, VERSION, DATA, "infoscope.code", "infoscope.device"}
_PART = r"[^\s/\\\"'<>|,;:()]+"
_FOLDERS = re.compile(
    rf"(?<![\w.:/\\])(?:file:)?(?:~|[A-Za-z]:)?[/\\]+(?:{_PART}[/\\]+)+"
)
_LOCAL_PATH = re.compile(
    r"(?:file:|~?/|~?\\|[A-Za-z]:[/\\])(?:.*[/\\])?([^/\\]+)[/\\]*", re.DOTALL
)


def is_carried(name: str) -> bool:
    """Whether a file holds tags of this name: some of MLflow's and ours, and all that a
    sweep or a user has added.
    """
    if name.startswith("mlflow."):
        return name in _MLFLOW_TAGS or name.startswith(f"{CONSTANTS} ")
    if name.startswith("infoscope."):
        return name in _OWN_TAGS
    return True


def portable_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a run that a file holds, without folder names and passwords."""
    carried = {}
    for name, value in tags.items():
        if not is_carried(name):
            continue
        is_data = name.startswith((CELL, CONSTANTS))
        carried[name] = value if is_data else without_folders(value)
    return carried


def without_folders(text: str) -> str:
    """A text without the folders of a machine, and without users and passwords in
    addresses.
    """
    return _FOLDERS.sub("", without_password(text))


def portable_source(source: str) -> str:
    """The source of a data set, JSON with an address, without the folders of a machine."""
    try:
        fields = json.loads(source)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(
        isinstance(value, str) for value in fields.values()
    ):
        return without_folders(source)
    portable = {}
    for name, value in fields.items():
        path = _LOCAL_PATH.fullmatch(value)
        portable[name] = path[1] if path else without_folders(value)
    return json.dumps(portable)
