import NIOCore

extension Channel {
    /// Returns once the connection has taken all that was written. Closing drops what it has not: a client that comes to a
    /// hole gets everything before it.
    func drained() async throws {
        while try await getOption(.bufferedWritableBytes).get() > 0 {
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
