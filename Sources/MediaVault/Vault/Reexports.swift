// This library's interface uses types of VaultModel, such as ranges, URLs, validators, errors and origins. The types
// for a title's renditions come from VaultManifest.
@_exported public import VaultCache
@_exported public import VaultManifest
@_exported public import VaultModel
