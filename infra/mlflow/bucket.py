"""Creates the bucket of the artifacts, unless it is there: `python bucket.py mlflow`."""

import sys

import boto3
from botocore.exceptions import ClientError

name = sys.argv[1]
# address and keys: AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
client = boto3.client("s3")
try:
    client.head_bucket(Bucket=name)
except ClientError as error:
    if error.response["Error"]["Code"] not in ("404", "NoSuchBucket"):
        raise
    client.create_bucket(Bucket=name)
