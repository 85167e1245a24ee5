"""Makes a logged reader the one that `estimate` uses: `make promote ARGS="RUN --alias
champion --package"`.

Writes its arrays into the package `infoscope.estimators.reading`, and says what it was
trained on.
"""

from pathlib import Path

from infoscope.errors import WrongType
from infoscope.estimators.reading import given, result
from infoscope.estimators.reading.module import ReaderModule
from infoscope.tracking import load_model


def package(run_id: str) -> str:
    """Writes the reader of a run into the package; what it is, in a line. WrongType: a
    run of another model.
    """
    module = load_model(run_id)
    if not isinstance(module, ReaderModule):
        raise WrongType(
            "RUN must be a run of the sweep reading, got one of "
            f"{type(module).__name__}."
        )
    name = given.PACKAGED if module.reader.given else result.PACKAGED
    path = Path(result.__file__).parent / name
    module.reader.save(path)
    card = module.reader.card
    size = path.stat().st_size
    return (
        f"{path.name}: version {card['version']}, {card['sets']:,} simulated data "
        f"sets, {size:,} bytes"
    )
