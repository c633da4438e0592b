import CSodium
import Foundation
internal import VaultModel

/// A secret that a person or a machine supplies to unlock a keyring.
package enum UnlockSecret: ~Copyable, Sendable {
    /// 32 bytes from a key file, a credential or a key command.
    case key(SecretKey)
    /// A passphrase in NFC, without a line ending.
    case passphrase(SecretBytes)

    /// Creates a passphrase from bytes that were typed, or read from a file.
    ///
    /// One trailing LF or CR LF is removed, and the text is normalized to NFC.
    ///
    /// - Throws: ``VaultError`` with code `wrongKey` if no bytes are left, or if they are not UTF-8.
    package static func passphrase(normalizing bytes: consuming SecretBytes) throws -> UnlockSecret {
        let normalized = try unsafe bytes.withBytes { typed in
            var count = typed.count
            if count > 0, unsafe typed[count - 1] == 0x0A {
                count -= 1
                if count > 0, unsafe typed[count - 1] == 0x0D { count -= 1 }
            }
            guard count > 0 else { throw VaultError(.wrongKey, "the passphrase is empty; enter one") }
            let line = unsafe UnsafeRawBufferPointer(rebasing: typed[..<count])
            // ASCII text is already in NFC, so it need not enter a String, which could not be wiped.
            if unsafe line.allSatisfy({ $0 < 0x80 }) { return try unsafe copy(line) }
            guard let text = unsafe String(validating: line, as: UTF8.self) else {
                throw VaultError(.wrongKey, "the passphrase is not UTF-8; save its file in that encoding")
            }
            var composed = Array(text.precomposedStringWithCanonicalMapping.utf8)
            // The array can be wiped, but the strings that it came from cannot.
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

    /// Derives the unlock key `U` for a slot; nil if the slot needs another kind of secret.
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

/// How a slot of the keyring is unlocked.
package enum UnlockMethod: String, Sendable {
    case keyFile = "key-file"
    case command
    case credential
    case passphrase
}

/// An unlock secret with several owners. It is wiped when the last owner releases it.
package final class SharedSecret: Sendable {
    let secret: UnlockSecret

    package init(_ secret: consuming UnlockSecret) { self.secret = secret }
}

/// Derives keys from passphrases with Argon2id v1.3 (`crypto_pwhash`).
package enum Argon2id {
    /// The salt and cost of one derivation, which the slot stores.
    package struct Cost: Hashable, Sendable {
        package let salt: [UInt8]
        /// The number of passes over the memory.
        package let opsLimit: Int64
        /// The amount of memory, in bytes.
        package let memLimit: Int64

        package static let saltByteCount = 16
        /// The bounds of a stored cost. They keep a tampered file from demanding a day's work or all of the memory.
        package static let opsBounds: ClosedRange<Int64> = 1...64
        package static let memBounds: ClosedRange<Int64> = (8 << 20)...(4 << 30)

        package init(salt: [UInt8], opsLimit: Int64, memLimit: Int64) {
            self.salt = salt
            self.opsLimit = opsLimit
            self.memLimit = memLimit
        }

        /// The maximum total cost of all passphrase slots in a keyring, in passes times bytes.
        ///
        /// It equals the cost of sixteen "sensitive" slots, which take a minute or two, so that a tampered file cannot
        /// demand an hour's work.
        static let maxWork: Int64 = 16 * 4 << 30

        /// The cost of one derivation, in passes times bytes.
        var work: Int64 { opsLimit * memLimit }

        /// Whether a keyring may state this cost.
        var isPossible: Bool {
            salt.count == Self.saltByteCount && Self.opsBounds.contains(opsLimit) && Self.memBounds.contains(memLimit)
        }

        /// Returns a fresh salt with the lowest possible cost.
        package static func least() throws -> Cost {
            Cost(
                salt: try SecureRandom.bytes(saltByteCount, "salt"), opsLimit: opsBounds.lowerBound,
                memLimit: memBounds.lowerBound)
        }

        /// Returns a fresh salt with libsodium's "interactive" cost of 2 passes over 64 MiB, which takes a tenth of a
        /// second.
        package static func interactive() throws -> Cost {
            Cost(salt: try SecureRandom.bytes(saltByteCount, "salt"), opsLimit: 2, memLimit: 64 << 20)
        }

        /// Returns a fresh salt with libsodium's "moderate" cost of 3 passes over 256 MiB, which takes most of a
        /// second.
        package static func moderate() throws -> Cost {
            Cost(salt: try SecureRandom.bytes(saltByteCount, "salt"), opsLimit: 3, memLimit: 256 << 20)
        }

        /// Returns a fresh salt with libsodium's "sensitive" cost of 4 passes over 1 GiB, which takes a few seconds.
        package static func sensitive() throws -> Cost {
            Cost(salt: try SecureRandom.bytes(saltByteCount, "salt"), opsLimit: 4, memLimit: 1 << 30)
        }
    }

    /// The number of bytes of stack to wipe: several times as many as Argon2id's 1 KiB blocks and its final hash use.
    private static let stackByteCount = 16 << 10

    /// Derives a key from a passphrase. Blocks for as long as the cost requires.
    ///
    /// - Throws: ``VaultError`` with code `storage` if there is not enough memory.
    package static func key(from passphrase: borrowing SecretBytes, _ cost: Cost) throws -> SecretKey {
        try Sodium.start()
        defer { SecureWipe.wipeStack(stackByteCount) }
        return try unsafe passphrase.withBytes { bytes in
            try unsafe SecretKey { output in
                guard let address = output.baseAddress, let characters = bytes.baseAddress else { return }
                // Both buffers are lent for this call, and the salt has the 16 bytes that libsodium reads.
                let result = unsafe crypto_pwhash(
                    address.assumingMemoryBound(to: UInt8.self), UInt64(SecretKey.byteCount),
                    characters.assumingMemoryBound(to: CChar.self), UInt64(bytes.count), cost.salt,
                    UInt64(cost.opsLimit), Int(cost.memLimit), crypto_pwhash_ALG_ARGON2ID13)
                guard result == 0 else {
                    throw VaultError(
                        .storage,
                        "not enough memory: the passphrase needs \(cost.memLimit >> 20) MiB; free some and try again")
                }
            }
        }
    }
}
