import CSodium
import Foundation
internal import VaultModel

/// What a person or a machine brings to open a keyring.
package enum UnlockSecret: ~Copyable, Sendable {
    /// 32 bytes of a key file, a credential or a key command.
    case key(SecretKey)
    /// A passphrase, in normal form and without a line end.
    case passphrase(SecretBytes)

    /// Makes a passphrase out of the bytes somebody typed or a file holds: one trailing LF or CR LF removed, NFC.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` where nothing is left, or it is not UTF-8.
    package static func passphrase(normalizing bytes: consuming SecretBytes) throws -> UnlockSecret {
        let normalized = try unsafe bytes.withBytes { typed in
            var count = typed.count
            if count > 0, unsafe typed[count - 1] == 0x0A {
                count -= 1
                if count > 0, unsafe typed[count - 1] == 0x0D { count -= 1 }
            }
            guard count > 0 else { throw VaultError(.wrongKey, "the passphrase is empty; give one that is not") }
            let line = unsafe UnsafeRawBufferPointer(rebasing: typed[..<count])
            // ASCII is in normal form already, and so never enters a String, which could not be wiped.
            if unsafe line.allSatisfy({ $0 < 0x80 }) { return try unsafe copy(line) }
            guard let text = unsafe String(validating: line, as: UTF8.self) else {
                throw VaultError(.wrongKey, "the passphrase is not UTF-8; save its file in that encoding")
            }
            var composed = Array(text.precomposedStringWithCanonicalMapping.utf8)
            // The strings themselves cannot be wiped.
            defer { SecureWipe.wipe(&composed) }
            return try unsafe SecretBytes(capacity: composed.count) { output in
                unsafe output.copyBytes(from: composed)
                return composed.count
            }
        }
        return .passphrase(normalized)
    }

    private static func copy(_ bytes: UnsafeRawBufferPointer) throws -> SecretBytes {
        try unsafe SecretBytes(capacity: bytes.count) { output in
            unsafe output.copyMemory(from: bytes)
            return bytes.count
        }
    }

    /// The unlock key `U` for a slot, or nil where the slot wants another kind of secret.
    borrowing func unlockKey(for slot: KeyringDocument.Slot) throws -> SecretKey? {
        switch self {
        case .key(let key):
            return slot.passphrase == nil ? try key.duplicate() : nil
        case .passphrase(let passphrase):
            guard let cost = slot.passphrase else { return nil }
            return try Argon2id.key(from: passphrase, cost)
        }
    }
}

/// How a slot of the keyring is opened.
package enum UnlockMethod: String, Sendable {
    case keyFile = "key-file"
    case command
    case credential
    case passphrase
}

/// An unlock secret that several hold; wiped when the last reference goes.
package final class SharedSecret: Sendable {
    let secret: UnlockSecret

    package init(_ secret: consuming UnlockSecret) { self.secret = secret }
}

/// Argon2id v1.3 (`crypto_pwhash`): a key out of a passphrase, at a cost that is stored beside it.
package enum Argon2id {
    /// Salt and cost of one derivation.
    package struct Cost: Hashable, Sendable {
        package let salt: [UInt8]
        /// Passes over the memory.
        package let opsLimit: Int64
        /// Memory in bytes.
        package let memLimit: Int64

        package static let saltByteCount = 16
        /// What a stored cost may be, so that a changed file cannot ask for a day or for all memory.
        package static let opsBounds: ClosedRange<Int64> = 1...64
        package static let memBounds: ClosedRange<Int64> = (8 << 20)...(4 << 30)

        package init(salt: [UInt8], opsLimit: Int64, memLimit: Int64) {
            self.salt = salt
            self.opsLimit = opsLimit
            self.memLimit = memLimit
        }

        /// What all passphrase slots of a keyring may cost together, in passes times bytes: as much as sixteen sensitive
        /// ones, a minute or two. Whoever changes the file must not be able to ask for an hour.
        static let mostWork: Int64 = 16 * 4 << 30

        /// Passes times bytes.
        var work: Int64 { opsLimit * memLimit }

        /// Whether a keyring may state this cost.
        var isPossible: Bool {
            salt.count == Self.saltByteCount && Self.opsBounds.contains(opsLimit) && Self.memBounds.contains(memLimit)
        }

        /// A fresh salt at libsodium's "moderate" cost: 3 passes over 256 MiB, most of a second.
        package static func moderate() throws -> Cost {
            Cost(salt: try SecureRandom.bytes(saltByteCount, "salt"), opsLimit: 3, memLimit: 256 << 20)
        }

        /// A fresh salt at libsodium's "sensitive" cost: 4 passes over 1 GiB, some seconds.
        package static func sensitive() throws -> Cost {
            Cost(salt: try SecureRandom.bytes(saltByteCount, "salt"), opsLimit: 4, memLimit: 1 << 30)
        }
    }

    /// Its blocks of 1 KiB and the hash that makes keys of the last one, several times over.
    private static let stackByteCount = 16 << 10

    static func key(from passphrase: borrowing SecretBytes, _ cost: Cost) throws -> SecretKey {
        try Sodium.start()
        defer { SecureWipe.wipeStack(stackByteCount) }
        return try unsafe passphrase.withBytes { bytes in
            try unsafe SecretKey { output in
                guard let address = output.baseAddress, let characters = bytes.baseAddress else { return }
                // Both buffers are lent for this call; the salt has the 16 bytes that libsodium reads.
                let result = unsafe crypto_pwhash(
                    address.assumingMemoryBound(to: UInt8.self), UInt64(SecretKey.byteCount),
                    characters.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), cost.salt,
                    UInt64(cost.opsLimit), Int(cost.memLimit), crypto_pwhash_ALG_ARGON2ID13)
                guard result == 0 else {
                    throw VaultError(
                        .storage,
                        "opening the passphrase needs \(cost.memLimit >> 20) MiB of memory, which there is not; free some"
                    )
                }
            }
        }
    }
}
