#!/bin/sh
# Writes infra/mlflow/.env from .env.example, with a random value for every secret; an existing one is left alone.
set -eu
cd "$(dirname "$0")"
if [ -e .env ]; then
    echo "infra/mlflow/.env is there already; remove it first to have new secrets" >&2
    exit 1
fi
umask 077 # for nobody else to read
while IFS= read -r line; do
    case $line in
        [A-Z]*=) printf '%s%s\n' "$line" "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" ;;
        *) printf '%s\n' "$line" ;;
    esac
done <.env.example >.env.new
mv .env.new .env
echo "wrote infra/mlflow/.env; trials log in with its MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
