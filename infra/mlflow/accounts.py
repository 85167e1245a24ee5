"""Makes the account under which trials record, which administers nothing, unless it is there: `python accounts.py`.

MLFLOW_TRACKING_URI, _USERNAME and _PASSWORD are of the administrator, TRIALS_... of the account.
"""

import os

from mlflow.exceptions import MlflowException
from mlflow.server import get_app_client

name, password = os.environ["TRIALS_USERNAME"], os.environ["TRIALS_PASSWORD"]
client = get_app_client("basic-auth", os.environ["MLFLOW_TRACKING_URI"])
try:
    client.get_user(name)
    client.update_user_password(name, password)
except MlflowException as error:
    if error.error_code != "RESOURCE_DOES_NOT_EXIST":
        raise
    client.create_user(name, password)
