"""Serves a torch.export program through MLflow; needs torch, numpy and MLflow only.

Every exported program contains a copy of this file, which MLflow executes on loading.
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
