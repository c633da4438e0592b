import VaultModel

/// A resource key as its row has it: sealed under the wrapping key of a generation.
struct WrappedKey: Hashable, Sendable {
    let resource: ResourceID
    let number: Int
    let generation: Int
    var wrapped: [UInt8]
}
