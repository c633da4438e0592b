import ServiceLifecycle

/// Gives a socket that listens the name by which it is asked for, as long as the service runs.
///
/// In the end the HTTP library removes whatever socket stands where it has bound one. So it binds where nobody else does,
/// and what another program has meanwhile put at the name is left alone.
struct SocketName: Service {
    let path: String
    /// Where the socket is bound.
    let draft: String
    /// Ends once it listens.
    let bound: AsyncStream<Never>
    /// Called once it can be asked by its name.
    let onListening: @Sendable () -> Void

    /// - Throws: `IOError` where it cannot have the name.
    func run() async throws {
        for await _ in bound {}
        // The listener may have failed.
        try Task.checkCancellation()
        let file = try SocketFile(moving: draft, to: path)
        defer { file.remove() }
        onListening()
        try? await gracefulShutdown()
    }

    /// A name of nobody's in the folder of a path.
    static func draft(beside path: String) -> String {
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return "\(folder).\(String(UInt32.random(in: 0 ... .max), radix: 16))"
    }
}
