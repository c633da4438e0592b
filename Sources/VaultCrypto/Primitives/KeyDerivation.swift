import CSodium
internal import VaultModel

/// What a derived value is for: the 16-byte personalisation of the hash, zero-padded ASCII.
package struct Purpose: Sendable {
    package static let wrap = Purpose("mv.wrap")
    package static let metadata = Purpose("mv.metadata")
    package static let segment = Purpose("mv.segment")
    package static let commitment = Purpose("mv.commit")
    package static let resource = Purpose("mv.resource")
    package static let principal = Purpose("mv.principal")
    package static let index = Purpose("mv.index")
    package static let fresh = Purpose("mv.fresh")
    package static let capability = Purpose("mv.capability")
    package static let admin = Purpose("mv.admin")
    package static let audit = Purpose("mv.audit")
    package static let auditLine = Purpose("mv.audit.line")
    package static let keyring = Purpose("mv.keyring")
    package static let keyringMAC = Purpose("mv.keyring.mac")
    package static let keyringSum = Purpose("mv.keyring.sum")
    package static let keyringOrder = Purpose("mv.order")

    fileprivate let personalisation: [UInt8]

    private init(_ name: StaticString) {
        var bytes: [UInt8] = []
        name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }  // A static string's bytes live for ever.
        bytes += Array(repeating: 0, count: Int(crypto_generichash_blake2b_PERSONALBYTES) - bytes.count)
        personalisation = bytes
    }
}

/// `KDF(key, person, message)`: 32 bytes of keyed BLAKE2b (`crypto_generichash_blake2b_salt_personal`), no salt.
package enum KeyDerivation {
    /// Derives a key, straight into locked memory.
    package static func key(
        from key: borrowing SecretKey, _ purpose: Purpose, _ message: [UInt8] = []
    ) throws -> SecretKey {
        try unsafe key.withBytes { keyBytes in
            try unsafe SecretKey { output in
                guard let address = output.baseAddress else { return }
                unsafe hash(address.assumingMemoryBound(to: UInt8.self), purpose, message, key: keyBytes)
            }
        }
    }

    /// Derives a value that is not secret: a name, a commitment, an authenticator.
    package static func value(from key: borrowing SecretKey, _ purpose: Purpose, _ message: [UInt8] = []) -> [UInt8] {
        unsafe key.withBytes { keyBytes in
            unsafe [UInt8](unsafeUninitializedCapacity: SecretKey.byteCount) { output, count in
                if let address = output.baseAddress { unsafe hash(address, purpose, message, key: keyBytes) }
                count = SecretKey.byteCount
            }
        }
    }

    /// The same hash without a key: a checksum.
    package static func checksum(_ purpose: Purpose, _ message: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: SecretKey.byteCount) { output, count in
            if let address = output.baseAddress { unsafe hash(address, purpose, message, key: nil) }
            count = SecretKey.byteCount
        }
    }

    // All pointers are lent by callers above for the time of this one call, with the lengths that are passed.
    private static func hash(
        _ output: UnsafeMutablePointer<UInt8>, _ purpose: Purpose, _ message: [UInt8], key: UnsafePointer<UInt8>?
    ) {
        let result = unsafe crypto_generichash_blake2b_salt_personal(
            output, SecretKey.byteCount, message, UInt64(message.count),
            key, key == nil ? 0 : SecretKey.byteCount, nil, purpose.personalisation)
        // libsodium leaves the output on the stack, and that may be a key.
        SecureWipe.wipeStack()
        // It fails only for lengths out of its bounds, and ours are constants within them.
        precondition(result == 0, "BLAKE2b refused constant lengths")
    }
}

/// Integers as the format writes them: unsigned, little-endian.
package enum LittleEndian {
    package static func bytes<Integer: FixedWidthInteger>(_ value: Integer) -> [UInt8] {
        (0..<MemoryLayout<Integer>.size).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
