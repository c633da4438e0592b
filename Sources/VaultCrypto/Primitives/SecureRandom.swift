import CSodium
import Foundation
package import VaultModel

/// Fresh keys, ids and nonces.
///
/// What libsodium draws is mixed with both clocks, so that two copies of one running machine image, which share the
/// state of the random generator, do not draw the same.
package enum SecureRandom {
    /// A fresh key.
    package static func key(_ context: StaticString) throws -> SecretKey { try key(context, from: seed()) }

    /// Fresh bytes that are not secret, at most 32.
    package static func bytes(_ count: Int, _ context: StaticString) throws -> [UInt8] {
        try bytes(count, context, from: seed())
    }

    /// What two machines that drew the same make of it: not the same.
    static func key(_ context: StaticString, from seed: borrowing SecretKey) throws -> SecretKey {
        try KeyDerivation.key(from: seed, .fresh, message(context))
    }

    /// The same for bytes that are not secret.
    static func bytes(_ count: Int, _ context: StaticString, from seed: borrowing SecretKey) throws -> [UInt8] {
        Array(KeyDerivation.value(from: seed, .fresh, message(context)).prefix(count))
    }

    /// A fresh identifier.
    package static func identifier<Kind>(_ context: StaticString) throws -> Identifier<Kind> {
        guard let identifier = Identifier<Kind>(bytes: try bytes(Kind.byteCount, context)) else {
            preconditionFailure("an identifier longer than a hash")
        }
        return identifier
    }

    /// A number below `bound`, each as likely as the others.
    package static func number(below bound: UInt32) throws -> UInt32 {
        try Sodium.start()
        return randombytes_uniform(bound)
    }

    /// 32 bytes as libsodium draws them.
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
