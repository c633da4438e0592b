@testable import VaultCrypto

extension AEAD {
    /// Seals an array; returns the ciphertext followed by the tag.
    static func seal(_ plaintext: [UInt8], nonce: [UInt8], associatedData: [UInt8], key: borrowing SecretKey) -> [UInt8]
    {
        var output = [UInt8](repeating: 0, count: plaintext.count + tagByteCount)
        let nonce = Nonce { nonce[$0] }
        unsafe plaintext.withUnsafeBytes { plaintext in
            unsafe output.withUnsafeMutableBytes { output in
                unsafe seal(plaintext, into: output, nonce: nonce, associatedData: associatedData, key: key)
            }
        }
        return output
    }

    /// Opens an array; returns nil if the tag is wrong, after requiring that no plaintext was written.
    static func open(_ sealed: [UInt8], nonce: [UInt8], associatedData: [UInt8], key: borrowing SecretKey) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: max(0, sealed.count - tagByteCount))
        let nonce = Nonce { nonce[$0] }
        let isGenuine = unsafe sealed.withUnsafeBytes { sealed in
            unsafe output.withUnsafeMutableBytes { output in
                unsafe open(sealed, into: output, nonce: nonce, associatedData: associatedData, key: key)
            }
        }
        guard isGenuine else {
            precondition(output.allSatisfy { $0 == 0 }, "a refused ciphertext left bytes behind")
            return nil
        }
        return output
    }

    /// Opens a part of an array; returns nil if the tag is wrong, after requiring that nothing was written.
    static func open(_ sealed: [UInt8], part: Range<Int>, nonce: [UInt8], key: borrowing SecretKey) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: part.count)
        let nonce = Nonce { nonce[$0] }
        let isGenuine = unsafe sealed.withUnsafeBytes { sealed in
            unsafe output.withUnsafeMutableBytes { output in
                unsafe open(sealed, part: part, into: output, nonce: nonce, key: key)
            }
        }
        guard isGenuine else {
            precondition(output.allSatisfy { $0 == 0 }, "a refused ciphertext left bytes behind")
            return nil
        }
        return output
    }
}
