"""Lee & Rhee 2024, released code: the cubic flag has no effect.

The flag is a whole number (`--gaussian_cubic 1`) and is compared by `is True`.
"""

flag = int("1")
print(f"flag == True: {flag == True}, flag is True: {flag is True}")  # noqa: E712
assert flag is not True
