import CSodium
internal import VaultModel

/// Secret bytes of any number, such as a passphrase, in guarded and locked memory; wiped when their owner lets go.
package struct SecretBytes: ~Copyable, Sendable {
    private let storage: Storage

    /// The number of bytes.
    package let count: Int

    /// Makes room for `capacity` bytes, lets `fill` write into it, and keeps as many as `fill` says.
    package init(capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws -> Int) throws {
        try Sodium.start()
        guard let address = unsafe sodium_malloc(capacity) else {
            throw VaultError(
                .storage, "there is no memory left for secrets; end other programs or raise the memory limit")
        }
        unsafe MemoryLock.shared.lock(address, capacity)
        let count: Int
        do {
            // The memory is ours alone until `init` returns.
            count = try unsafe fill(UnsafeMutableRawBufferPointer(start: address, count: capacity))
        } catch {
            unsafe sodium_free(address)
            throw error
        }
        self.count = count
        storage = unsafe Storage(address: address)
    }

    deinit { unsafe sodium_free(storage.address) }  // `sodium_free` wipes first.

    /// Lends the bytes for the time of a call. They must not be kept.
    package borrowing func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The borrow of self covers the call.
        try unsafe body(UnsafeRawBufferPointer(start: storage.address, count: count))
    }

    // Sendable though it is a pointer: the value that holds it has one owner at a time.
    @safe private struct Storage: @unchecked Sendable {
        let address: UnsafeMutableRawPointer
    }
}
