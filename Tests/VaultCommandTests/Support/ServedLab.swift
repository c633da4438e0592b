import Foundation
import MediaVault
import OriginTestSupport
import Testing

/// A vault, and an origin with media files, for commands that work through the service that owns the vault.
struct ServedLab {
    static let length: Int64 = 1_000_000

    /// The environment of a client that must not need a key: it has neither keyring nor key file.
    static let keyless = ["MEDIAVAULT_KEYRING": "/nowhere/keyring", "MEDIAVAULT_KEY_FILE": "/nowhere/key"]

    let lab: CommandLab
    let title = ScriptedResource(seed: 21, length: length)
    let origin: ScriptedOrigin
    let url: String

    init() async throws {
        lab = try CommandLab()
        origin = try ScriptedOrigin(title)
        url = origin.url("/dir/film.mp4").absoluteString
        try await lab.run("init")
    }

    var media: [UInt8] { title.media.bytes(0..<Self.length) }

    /// Runs the command without a key.
    func keyless(_ arguments: String...) async throws -> CommandResult {
        try await lab.start(arguments, setting: Self.keyless).result
    }

    /// Runs the command without a key if a service can do the work.
    func act(_ isServed: Bool, _ arguments: String...) async throws -> CommandResult {
        try await lab.start(arguments, setting: isServed ? Self.keyless : [:]).result
    }

    func serve() async throws -> RunningCommand {
        let service = try lab.start(["serve", "--listen", "127.0.0.1:0"])
        _ = try #require(await service.line { $0.contains("serving") })
        return service
    }

    /// Makes the origin hold its answer back at a byte until the gate opens.
    func hold(at byte: Int64, _ gate: Gate) {
        origin.answer { [title] request in
            var answer = title.answer(to: request)
            if request.method == "GET" { answer.insert(.hold(gate), at: byte) }
            return answer
        }
    }
}
