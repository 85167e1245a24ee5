"""Makes the account of the trials, without rights of administration, unless it exists:
`python accounts.py`.

MLFLOW_TRACKING_URI, _USERNAME and _PASSWORD are of the administrator, TRIALS_... of the
account.
"""

import os

from mlflow.exceptions import MlflowException
from mlflow.server import get_app_client

name = os.environ["TRIALS_USERNAME"]
password = os.environ["TRIALS_PASSWORD"]
client = get_app_client("basic-auth", os.environ["MLFLOW_TRACKING_URI"])
try:
    client.get_user(name)
    client.update_user_password(name, password)
except MlflowException as error:
    if error.error_code != "RESOURCE_DOES_NOT_EXIST":
        raise
    client.create_user(name, password)
