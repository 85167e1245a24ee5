"""Environments of the public packages that our estimators are compared with: `make peers PEERS="npeet-plus ennemi"`

__main__    makes .peers/ENVIRONMENT from ENVIRONMENT.txt, package by package
worker      answers requests with the Python of such an environment
calls       how users ask each package
*.txt       the exact versions of an environment, as constraints
"""
