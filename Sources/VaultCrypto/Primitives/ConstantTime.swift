import CSodium

/// Comparison that takes as long for values that differ early as for those that differ late.
package enum ConstantTime {
    /// Whether two values are equal (`sodium_memcmp`); values of different lengths are not.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        // Both arrays lend their storage for the call.
        return unsafe sodium_memcmp(one, other, one.count) == 0
    }
}
