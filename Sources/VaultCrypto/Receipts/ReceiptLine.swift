import CSodium
package import VaultModel

/// A signed line of the audit log: a receipt, bound to its vault and to the previous line.
package struct ReceiptLine: Sendable {
    package let receipt: Receipt
    package let vaultID: VaultID
    /// The key that verifies the signature.
    package let publicKey: [UInt8]
    /// The ``hash(of:)`` of the previous line; all zeros in the first line.
    package let previous: [UInt8]
    /// The line's bytes, without a line ending.
    package let bytes: [UInt8]
    /// Whether the signature is valid for the rest of the line.
    package let isGenuine: Bool
    /// The key that signed up to this line, if the key changes here. It has also signed this line.
    package let former: [UInt8]?

    /// The value of ``previous`` in the first line.
    package static let firstPrevious = [UInt8](repeating: 0, count: 32)

    /// Returns the hash that the next line uses to identify this one: BLAKE2b-256, personalized `mv.audit.line`.
    package static func hash(of line: [UInt8]) -> [UInt8] { KeyDerivation.checksum(.auditLine, line) }

    /// Signs a receipt.
    ///
    /// - Parameters:
    ///   - previous: the hash of the previous line.
    ///   - seed: the seed of the key that signs this line and those after it.
    ///   - former: the seed of the previous signing key, if it differs. Both keys then sign, so that each vouches for
    ///     the other.
    /// - Returns: the line, without a line ending.
    static func bytes(
        _ receipt: Receipt, vaultID: VaultID, previous: [UInt8], seed: borrowing SecretKey, former: SharedKey? = nil
    ) throws -> [UInt8] {
        var object = JSONObject()
        object["act"] = .string(receipt.act.rawValue)
        object["generation"] = .integer(Int64(receipt.generation))
        object["key"] = .string(Hex.encode(try ReceiptSignature.publicKey(of: seed)))
        object["outcome"] = .string(receipt.outcome.rawValue)
        object["previous"] = .string(Hex.encode(previous))
        object["resources"] = receipt.resources.map { .integer($0) }
        object["sequence"] = .integer(receipt.sequence)
        object["subject"] = receipt.subject.map { .string($0) }
        object["time"] = .integer(receipt.time)
        object["vault"] = .string(vaultID.hex)
        if let former {
            object["former"] = .string(Hex.encode(try ReceiptSignature.publicKey(of: former.secret)))
            let signature = try ReceiptSignature.sign(canonical(object), seed: former.secret)
            object["formerSignature"] = .string(Base64.encode(signature))
        }
        let signature = try ReceiptSignature.sign(canonical(object), seed: seed)
        object["signature"] = .string(Base64.encode(signature))
        return canonical(object)
    }

    /// Parses a line; nil if it is not a receipt in canonical form.
    package init?(_ line: [UInt8]) {
        guard let value = try? JSONParser.parse(line), value.canonical == line,
            let object = try? JSONObject(value, name: "receipt"),
            let receipt = Self.receipt(object), let key = Self.bytes(object, "key"),
            let previous = Self.bytes(object, "previous"), previous.count == Self.firstPrevious.count,
            let vaultID = (try? object.string("vault")).flatMap({ VaultID(hex: $0) }),
            let signature = try? object.base64("signature")
        else { return nil }
        self.receipt = receipt
        self.vaultID = vaultID
        self.previous = previous
        publicKey = key
        bytes = line
        var signed = object
        signed["signature"] = nil
        isGenuine = ReceiptSignature.isGenuine(signature, of: Self.canonical(signed), publicKey: key)
        former = Self.former(signed)
    }

    /// Returns the former key if its own signature is valid.
    private static func former(_ object: JSONObject) -> [UInt8]? {
        guard let key = bytes(object, "former"), let signature = try? object.base64("formerSignature") else {
            return nil
        }
        var signed = object
        signed["formerSignature"] = nil
        return ReceiptSignature.isGenuine(signature, of: canonical(signed), publicKey: key) ? key : nil
    }

    /// Whether the anchor's key signed the line for the anchor's vault.
    package func isSigned(as anchor: AuditChecker.Anchor) -> Bool {
        isSigned(with: anchor.publicKey, for: anchor.vaultID)
    }

    /// Whether a key signed the line for a vault, either as the new key or as the former key.
    package func isSigned(with key: [UInt8], for vault: VaultID) -> Bool {
        isGenuine && (publicKey == key || former == key) && vaultID == vault
    }

    private static func receipt(_ object: JSONObject) -> Receipt? {
        do {
            return Receipt(
                sequence: try object.integer("sequence"), time: try object.integer("time"),
                act: Receipt.Act(rawValue: try object.string("act")),
                outcome: Receipt.Outcome(rawValue: try object.string("outcome")),
                generation: Int(try object.integer("generation")), subject: try object.optionalString("subject"),
                resources: try object.optionalInteger("resources"))
        } catch {
            return nil
        }
    }

    private static func bytes(_ object: JSONObject, _ name: String) -> [UInt8]? {
        (try? object.string(name)).flatMap { Hex.decode($0) }
    }

    private static func canonical(_ object: JSONObject) -> [UInt8] { JSONValue.object(object.members).canonical }
}

/// Creates and verifies Ed25519 signatures (RFC 8032) with libsodium.
///
/// Only someone who holds the seed can sign; anyone who holds the public key can verify.
package enum ReceiptSignature {
    package static let byteCount = 64
    package static let publicKeyByteCount = 32
    private static let pairByteCount = 64

    /// Signs a message (`crypto_sign_detached`).
    ///
    /// - Parameter seed: the 32 bytes from which the key pair is derived (`crypto_sign_seed_keypair`).
    static func sign(_ message: [UInt8], seed: borrowing SecretKey) throws -> [UInt8] {
        try withKeyPair(of: seed) { _, pair in
            unsafe pair.withBytes { secret in
                unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
                    guard let address = output.baseAddress, let key = secret.baseAddress else { return }
                    // The array's 64 bytes, the pair's 64 bytes, and the message with its length are lent for this
                    // call.
                    _ = unsafe crypto_sign_detached(
                        address, nil, message, UInt64(message.count), key.assumingMemoryBound(to: UInt8.self))
                    count = byteCount
                }
            }
        }
    }

    /// Derives the public key from a seed.
    static func publicKey(of seed: borrowing SecretKey) throws -> [UInt8] {
        try withKeyPair(of: seed) { publicKey, _ in publicKey }
    }

    /// Whether a signature is valid for a message (`crypto_sign_verify_detached`).
    package static func isGenuine(_ signature: [UInt8], of message: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == byteCount, publicKey.count == publicKeyByteCount else { return false }
        // Both lengths that libsodium assumes were checked above.
        return unsafe crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }

    private static func withKeyPair(
        of seed: borrowing SecretKey, _ body: ([UInt8], borrowing SecretBytes) -> [UInt8]
    ) throws -> [UInt8] {
        try Sodium.start()
        defer { SecureWipe.wipeStack() }
        var publicKey = [UInt8](repeating: 0, count: publicKeyByteCount)
        let pair = try unsafe SecretBytes(capacity: pairByteCount) { output in
            guard let address = output.baseAddress else { return 0 }
            unsafe seed.withBytes { seedBytes in
                // The buffers have the sizes that libsodium requires: 32 bytes for the public key, 64 for the pair, 32
                // for the seed.
                _ = unsafe crypto_sign_seed_keypair(
                    &publicKey, address.assumingMemoryBound(to: UInt8.self), seedBytes)
            }
            return pairByteCount
        }
        return body(publicKey, pair)
    }
}
