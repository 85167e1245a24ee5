"""Environments of public packages for comparison: `make peers PEERS="npeet-plus ennemi"`

__main__    makes .peers/ENVIRONMENT from ENVIRONMENT.txt, package by package
worker      calls packages with the Python of such an environment
calls       how each package is called
*.txt       the exact versions of an environment, as constraints
"""
