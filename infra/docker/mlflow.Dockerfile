# An MLflow server with logins, PostgreSQL and S3:
#   docker build -t infoscope-mlflow:3.17.2 -f infra/docker/mlflow.Dockerfile .
ARG PYTHON=3.11
FROM python:${PYTHON}-slim
RUN useradd --create-home --uid 1000 mlflow
WORKDIR /home/mlflow
COPY constraints.txt infra/docker/mlflow-requirements.txt ./
RUN pip install --no-cache-dir -c constraints.txt -r mlflow-requirements.txt
COPY infra/mlflow/basic_auth.ini infra/mlflow/bucket.py infra/mlflow/accounts.py ./
ENV MLFLOW_AUTH_CONFIG_PATH=/home/mlflow/basic_auth.ini \
    MLFLOW_DISABLE_TELEMETRY=true \
    MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false
USER 1000
EXPOSE 5000
# one worker: with several, every request waits 40 ms for an acknowledgement; artifacts go through the server, so that
# only it needs the keys of the object store. PostgreSQL's address, user and password come from PGHOST, PGUSER, PGPASSWORD.
CMD ["mlflow", "server", "--host", "0.0.0.0", "--port", "5000", "--workers", "1", "--app-name", "basic-auth", \
     "--backend-store-uri", "postgresql+psycopg2:///mlflow", "--artifacts-destination", "s3://mlflow"]
