import Hummingbird

/// A body that is written by and by.
protocol StreamedBody: Sendable {
    /// Writes all, or throws so that the connection is closed.
    ///
    /// - Parameter sent: counts the bytes handed over.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter, counting sent: inout Int64) async throws
}
