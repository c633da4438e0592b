/// What a vault has done since it was opened.
package struct VaultWork: Hashable, Sendable {
    /// Plaintext bytes that were opened.
    package let opened: Int64
    /// Plaintext bytes that were sealed.
    package let sealed: Int64
    /// Blocks and files that failed when they were read.
    package let damaged: Int64
}
