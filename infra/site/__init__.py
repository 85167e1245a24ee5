"""The site: what is built of docs/ by `make site`.

mkdocs.yml        what is where, and how it looks
hooks             links out of docs/, programs of the errata, the reference of every public module
api               the page of public names, which the site has: `python -m infra.site.api` prints it
picture           the figures of the first page and of the concepts: `python -m infra.site.picture`
documents         runs the code of pages
tutorials         the figures of the tutorials: `python -m infra.site.tutorials`
gallery           the pictures of docs/gallery.md: `python -m infra.site.gallery`
requirements.txt  what builds it, at the exact versions of constraints.txt
"""
