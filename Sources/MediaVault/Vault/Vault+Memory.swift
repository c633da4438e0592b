import VaultCrypto

extension Vault {
    /// Tells once that keys could not be locked in memory: why, and what to do, in a sentence. At once where that is
    /// known already, else when it happens; then the sequence ends. All vaults of a process share the memory for keys.
    public func memoryWarnings() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        let telling = Task {
            for await refusal in MemoryLock.shared.refusals() { continuation.yield("\(refusal)") }
            continuation.finish()
        }
        continuation.onTermination = { _ in telling.cancel() }
        return stream
    }
}
