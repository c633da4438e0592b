import Foundation
import VaultCache
import VaultCrypto
import VaultModel
import VaultStorage

/// A PIN as a viewer types it. It is kept in locked memory, and wiped when the last reference is released.
public final class PIN: Sendable {
    let bytes: SecretBytes

    /// The permitted number of characters in a PIN.
    public static let length = 4...64
    /// The maximum number of bytes in a PIN's text, which is enough for any characters that can be typed.
    private static let maxBytes = 1024

    /// Creates a PIN from a text. The text is brought into its canonical form, so that every keyboard yields the same
    /// bytes.
    ///
    /// The text itself belongs to the caller, and is not wiped.
    ///
    /// - Parameter text: 4 to 64 characters in one line.
    /// - Throws: ``VaultError`` with code `invalidArgument` if the text is not valid; `storage` if there is not enough
    ///   memory.
    public init(_ text: String) throws {
        guard Self.isPossible(text) else { throw Self.impossible }
        var composed = Array(text.precomposedStringWithCanonicalMapping.utf8)
        defer { SecureWipe.wipe(&composed) }
        bytes = try unsafe SecretBytes(capacity: composed.count) { output in
            unsafe output.copyBytes(from: composed)
            return composed.count
        }
    }

    /// Creates a PIN from text that was typed or read from a file. If it is ASCII, no copy is made outside locked
    /// memory.
    ///
    /// - Throws: the errors of ``init(_:)-(String)``.
    public convenience init(_ typed: Passphrase) throws {
        try self.init(secret: try typed.secret())
    }

    fileprivate init(secret: consuming UnlockSecret) throws {
        switch consume secret {
        case .key: throw Self.impossible
        case .passphrase(let typed):
            let isPossible = unsafe typed.withBytes { bytes in
                if unsafe bytes.allSatisfy({ (0x20...0x7E).contains($0) }) { return Self.length.contains(bytes.count) }
                return unsafe String(validating: bytes, as: UTF8.self).map(Self.isPossible) ?? false
            }
            guard isPossible else { throw Self.impossible }
            bytes = typed
        }
    }

    private static func isPossible(_ text: String) -> Bool {
        length.contains(text.unicodeScalars.count) && text.utf8.count <= maxBytes
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    private static let impossible = VaultError(
        .invalidArgument, "a PIN must be one line of \(length.lowerBound) to \(length.upperBound) characters")

    /// Returns the verifier to store for the PIN. Blocks for a tenth of a second.
    func verifier() throws -> PINVerifier {
        let cost = try Argon2id.Cost.interactive()
        let hash = try Self.hash(bytes, cost)
        guard
            let verifier = PINVerifier(salt: cost.salt, passes: cost.opsLimit, memory: cost.memLimit, hash: hash)
        else { throw VaultError(.storage, "the PIN cannot be stored; try again") }
        return verifier
    }

    /// Returns whether the PIN matches a verifier. How long this takes does not depend on the result. Blocks for a
    /// tenth of a second.
    func matches(_ verifier: PINVerifier) throws -> Bool {
        let cost = Argon2id.Cost(salt: verifier.salt, opsLimit: verifier.passes, memLimit: verifier.memory)
        return ConstantTime.areEqual(try Self.hash(bytes, cost), verifier.hash)
    }

    /// Takes as long as ``matches(_:)``, for a sign-in with a name that has no PIN.
    func matchNothing() throws { _ = try Self.hash(bytes, .interactive()) }

    private static func hash(_ pin: borrowing SecretBytes, _ cost: Argon2id.Cost) throws -> [UInt8] {
        let key = try Argon2id.key(from: pin, cost)
        // Store a hash of the derived key, because that key is a secret of its own.
        return KeyDerivation.value(from: key, .pin)
    }
}

/// How to change a viewer's PIN.
public enum PINChange: Sendable {
    /// Keep the PIN.
    case keep
    /// Replace the PIN with this one.
    case set(PIN)
    /// Remove the PIN, so that only a ticket from the owner lets the viewer in.
    case remove
}

extension PIN: Codable {
    /// Decodes the PIN from its text.
    ///
    /// - Throws: `DecodingError` if there is no text; the errors of ``init(_:)-(String)`` if the text is not valid.
    public convenience init(from decoder: any Decoder) throws {
        try self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the PIN as its text. This is used only for the control socket.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(unsafe bytes.withBytes { unsafe String(decoding: $0, as: UTF8.self) })
    }
}

extension PIN {
    /// Reads a PIN from a file that other users cannot read. The PIN may be followed by one line ending.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - allowLoose: whether to accept a file that other users can read.
    /// - Throws: the errors of ``init(_:)-(String)``; also ``VaultError`` with code `looseKeyFile` or `storage` if the
    ///   file cannot be used.
    public static func read(_ path: String, allowLoose: Bool = false) async throws -> PIN {
        try await BlockingPool.shared.run {
            do {
                return try PIN(secret: KeyFile.readPassphrase(path, allowLoose: allowLoose, secret: "PIN"))
            } catch let error as VaultError where error.code == .wrongKey {
                // The file is empty, or has another encoding.
                throw impossible
            }
        }
    }
}
