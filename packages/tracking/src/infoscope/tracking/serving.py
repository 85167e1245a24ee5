"""Serves a program of torch.export through MLflow, and needs torch, numpy and MLflow only.

A copy of this file lies beside every exported program: MLflow executes it when it loads the program. It hands the
arrays of a request to the program by their names, and gives back the array that comes out.
"""

import torch
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel


class Program(PythonModel):
    def load_context(self, context):
        self.module = torch.export.load(context.artifacts["program"]).module()

    def predict(self, context, model_input, params=None):
        with torch.no_grad():
            return self.module(**{name: torch.as_tensor(values) for name, values in model_input.items()}).numpy()


set_model(Program())
