import CSodium
internal import VaultModel

/// The purpose of a derived value. It is the hash's 16-byte personalization, in zero-padded ASCII.
package struct Purpose: Sendable {
    package static let wrap = Purpose("mv.wrap")
    package static let metadata = Purpose("mv.metadata")
    package static let segment = Purpose("mv.segment")
    package static let commitment = Purpose("mv.commit")
    package static let resource = Purpose("mv.resource")
    package static let principal = Purpose("mv.principal")
    /// The purpose of index records in format versions up to 5.
    package static let index = Purpose("mv.index")
    package static let records = Purpose("mv.records")
    package static let fresh = Purpose("mv.fresh")
    package static let capability = Purpose("mv.capability")
    package static let token = Purpose("mv.token")
    package static let tokenEra = Purpose("mv.token.era")
    package static let device = Purpose("mv.device")
    package static let audit = Purpose("mv.audit")
    package static let auditLine = Purpose("mv.audit.line")
    /// Distinguishes feeds whose URLs differ only in their queries. This purpose is used without a key.
    package static let feedQuery = Purpose("mv.feed.query")
    /// Tells one collection from another in the record of a viewer. This purpose is used without a key.
    package static let collection = Purpose("mv.collection")
    package static let keyring = Purpose("mv.keyring")
    package static let keyringMAC = Purpose("mv.keyring.mac")
    package static let keyringSum = Purpose("mv.keyring.sum")
    package static let keyringOrder = Purpose("mv.order")
    package static let manifest = Purpose("mv.manifest")
    package static let pin = Purpose("mv.pin")
    package static let hiddenLink = Purpose("mv.link")
    package static let hiddenLinkNonce = Purpose("mv.link.nonce")

    fileprivate let personalisation: [UInt8]

    private init(_ name: StaticString) {
        var bytes: [UInt8] = []
        name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }  // A static string's bytes live for ever.
        bytes += Array(repeating: 0, count: Int(crypto_generichash_blake2b_PERSONALBYTES) - bytes.count)
        personalisation = bytes
    }
}

/// Computes `KDF(key, person, message)`: 32 bytes of keyed BLAKE2b without a salt.
///
/// The libsodium function is `crypto_generichash_blake2b_salt_personal`.
package enum KeyDerivation {
    /// Derives a key straight into locked memory.
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

    /// Derives a value that is not secret, such as a name, a commitment or an authenticator.
    package static func value(from key: borrowing SecretKey, _ purpose: Purpose, _ message: [UInt8] = []) -> [UInt8] {
        unsafe key.withBytes { keyBytes in
            unsafe [UInt8](unsafeUninitializedCapacity: SecretKey.byteCount) { output, count in
                if let address = output.baseAddress { unsafe hash(address, purpose, message, key: keyBytes) }
                count = SecretKey.byteCount
            }
        }
    }

    /// Returns the same hash computed without a key, for use as a checksum.
    package static func checksum(_ purpose: Purpose, _ message: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: SecretKey.byteCount) { output, count in
            if let address = output.baseAddress { unsafe hash(address, purpose, message, key: nil) }
            count = SecretKey.byteCount
        }
    }

    // The callers above lend all pointers for the duration of this call, with the lengths that they pass.
    private static func hash(
        _ output: UnsafeMutablePointer<UInt8>, _ purpose: Purpose, _ message: [UInt8], key: UnsafePointer<UInt8>?
    ) {
        let result = unsafe crypto_generichash_blake2b_salt_personal(
            output, SecretKey.byteCount, message, UInt64(message.count),
            key, key == nil ? 0 : SecretKey.byteCount, nil, purpose.personalisation)
        // libsodium leaves the output, which may be a key, on the stack.
        SecureWipe.wipeStack()
        // The hash fails only for lengths that are out of bounds, and these lengths are constants within the bounds.
        precondition(result == 0, "BLAKE2b refused constant lengths")
    }
}

/// Encodes integers as the file format stores them: unsigned and little-endian.
package enum LittleEndian {
    package static func bytes<Integer: FixedWidthInteger>(_ value: Integer) -> [UInt8] {
        (0..<MemoryLayout<Integer>.size).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
