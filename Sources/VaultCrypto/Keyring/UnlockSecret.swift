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
            defer { Remains.wipe(&composed) }
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
