"""The site: what is built of docs/ by `make site`.

mkdocs.yml        what is where, and how it looks
hooks             links out of docs/, the reference of every public module, the tables of results
api               docs/api.md, the public names: `python -m infra.site.api`
picture           the figure of the first page: `python -m infra.site.picture`
requirements.txt  what builds it, at the exact versions of constraints.txt
"""
