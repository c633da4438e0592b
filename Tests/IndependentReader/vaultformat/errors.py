"""What can be wrong, one class for each case that a caller tells apart. Messages carry no keys and no media."""


class FormatError(Exception):
    """Something is not as the format document says."""


class NotAKeyring(FormatError):
    """The file is no keyring of this version."""


class DamagedKeyring(FormatError):
    """The checksum or a member's form is wrong."""


class WrongKey(FormatError):
    """No slot opens with the key given."""


class TamperedKeyring(FormatError):
    """The slot opens, but the authenticator disagrees."""


class OtherVaultsKeyring(FormatError):
    """The keyring belongs to another vault."""


class OlderKeyring(FormatError):
    """The index has seen a later revision of the keyring."""


class Unopenable(FormatError):
    """A sealed value or a block does not open: changed, misplaced, or under another key."""
