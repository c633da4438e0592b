import Foundation

/// What is piped into the command.
enum StandardInput {
    /// All of it, as far as it may go and a little more, so that too much shows.
    static func read(atMost limit: Int) async throws -> [UInt8] {
        try await BlockingQueue("mediavault.input").run {
            var bytes: [UInt8] = []
            while bytes.count <= limit, let more = try FileHandle.standardInput.read(upToCount: 16 << 10),
                !more.isEmpty
            {
                bytes += more
            }
            return bytes
        }
    }
}
