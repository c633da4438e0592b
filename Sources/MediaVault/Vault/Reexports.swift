// The types of VaultModel are part of this library's interface: ranges, URLs, validators, errors, origins.
// The renditions of a title come from VaultManifest.
@_exported public import VaultManifest
@_exported public import VaultModel
