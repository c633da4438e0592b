import CSodium
import Foundation
package import VaultModel

/// Creates fresh keys, ids and nonces.
///
/// Random bytes from libsodium are mixed with the readings of two clocks. Two copies of one running machine image share
/// the state of the random generator, and the clocks keep them from drawing the same values.
package enum SecureRandom {
    /// Returns a fresh key.
    package static func key(_ context: StaticString) throws -> SecretKey { try key(context, from: seed()) }

    /// Returns fresh bytes that are not secret; at most 32 of them.
    package static func bytes(_ count: Int, _ context: StaticString) throws -> [UInt8] {
        try bytes(count, context, from: seed())
    }

    /// Derives a key from a seed and the clocks, so that two machines with the same seed get different keys.
    static func key(_ context: StaticString, from seed: borrowing SecretKey) throws -> SecretKey {
        try KeyDerivation.key(from: seed, .fresh, message(context))
    }

    /// Derives bytes that are not secret from a seed and the clocks.
    static func bytes(_ count: Int, _ context: StaticString, from seed: borrowing SecretKey) throws -> [UInt8] {
        Array(KeyDerivation.value(from: seed, .fresh, message(context)).prefix(count))
    }

    /// Returns a fresh identifier.
    package static func identifier<Kind>(_ context: StaticString) throws -> Identifier<Kind> {
        guard let identifier = Identifier<Kind>(bytes: try bytes(Kind.byteCount, context)) else {
            preconditionFailure("an identifier longer than a hash")
        }
        return identifier
    }

    /// Returns a uniformly distributed random number below `bound`.
    package static func number(below bound: UInt32) throws -> UInt32 {
        try Sodium.start()
        return randombytes_uniform(bound)
    }

    /// Draws 32 random bytes from libsodium.
    static func seed() throws -> SecretKey {
        try unsafe SecretKey { buffer in
            guard let address = buffer.baseAddress else { return }
            unsafe randombytes_buf(address, buffer.count)
        }
    }

    static func message(_ context: StaticString) -> [UInt8] {
        var bytes: [UInt8] = []
        context.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }  // A static string's bytes live for ever.
        for clock in clocks { bytes += LittleEndian.bytes(nanoseconds(clock)) }
        return bytes
    }

    private static let clocks = [CLOCK_REALTIME, CLOCK_MONOTONIC]

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000 &+ UInt64(bitPattern: Int64(time.tv_nsec))
    }
}
