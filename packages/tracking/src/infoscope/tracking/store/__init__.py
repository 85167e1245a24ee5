"""The MLflow tracking store, and what is read from it.

store    Store; runs, curve, table, arrays, parents, files; attach, log_results
client   the client of a store, which may answer late, wrongly or never
find     one search over the cells of every sweep
publish  adds tables and figures to the invocation that they are about
export   a logged model as a torch.export program; `serving` serves one
ui       what the MLflow UI shows of an experiment first
"""
