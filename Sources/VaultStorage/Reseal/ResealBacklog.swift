/// What is left of a reseal that was not finished.
package struct ResealBacklog: Hashable, Sendable {
    /// Whether it is ordered still, and gone on with. What is over has left behind resources that could not be sealed
    /// anew in whole.
    package let isDue: Bool
    /// Resources that are not done: not begun, or with an older key beside the one in use.
    package var resources = 0
    /// Plaintext bytes of theirs that are still to be sealed anew.
    package var bytes: Int64 = 0
    /// For each generation, how many of those resources need it for nothing but an older key, which goes when they are
    /// done.
    package var leaving: [Int: Int] = [:]

    package init(isDue: Bool) { self.isDue = isDue }
}
