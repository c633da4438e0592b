package import VaultModel

/// A segment that is still sealed under a key that its resource is to lose.
package struct ResealTask: Sendable {
    package let segment: SegmentDescription
    /// Whether it still grows: then it waits until it is closed.
    package let isOpen: Bool
    /// Blocks that failed their tag: they are gaps, and stay so.
    package let badBlocks: Set<Int>
}
