// The types of VaultModel are part of this library's interface: ranges, URLs, validators, errors, origins.
@_exported public import VaultModel
