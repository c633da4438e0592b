"""The MediaVault on-disk format, versions 1 to 6, written from the format document alone.

Nothing here was taken from, or checked against, the Swift sources: wherever these modules and the Swift code agree, the
document specifies it. Requires Python 3.11 or later, its standard library, and libsodium through ctypes; no packages.
"""
