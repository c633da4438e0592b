import CSodium

/// What computing leaves behind, wiped.
package enum Remains {
    /// Wipes bytes that held a secret or media, in a way that no optimiser drops (`sodium_memzero`).
    package static func wipe(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let address = buffer.baseAddress else { return }
        // The caller's own buffer, with its length.
        unsafe sodium_memzero(address, buffer.count)
    }

    /// Wipes an array that nobody else holds, and keeps its length.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe wipe($0) }
    }

    /// Wipes the part of the stack that libsodium has just used: it leaves derived keys and spilled registers there.
    static func wipeStack(_ byteCount: Int = stackByteCount) { sodium_stackzero(byteCount) }

    /// More than its hash and its cipher use; its signatures use more, and wipe what they make of a seed.
    private static let stackByteCount = 4096
}
