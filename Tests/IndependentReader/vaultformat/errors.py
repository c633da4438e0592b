"""The errors, one class for each case that a caller distinguishes. Messages contain no keys and no media."""


class FormatError(Exception):
    """Something differs from the format document."""


class NotAKeyring(FormatError):
    """The file is not a keyring of this version."""


class DamagedKeyring(FormatError):
    """The checksum or the form of a member is wrong."""


class WrongKey(FormatError):
    """No slot opens with the given key."""


class TamperedKeyring(FormatError):
    """The slot opens, but the authenticator does not match."""


class OtherVaultsKeyring(FormatError):
    """The keyring belongs to another vault."""


class OlderKeyring(FormatError):
    """The index has recorded a later revision of the keyring."""


class Unopenable(FormatError):
    """A sealed value or block does not open: it was changed, moved, or sealed under another key."""


class UnknownGeneration(Unopenable):
    """A record is sealed under a generation whose key the keyring does not have."""


class FormerRecord(Unopenable):
    """A record has the form of versions up to 5, and the keyring says that none is left."""
