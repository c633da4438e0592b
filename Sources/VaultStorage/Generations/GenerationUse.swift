/// What needs a generation: the keys that it wraps.
package struct GenerationUse: Hashable, Sendable {
    /// Resources that have a key wrapped by it.
    package var resources = 0
    /// Plaintext bytes that lie sealed under those keys.
    package var bytes: Int64 = 0
}
