import Foundation
package import MediaVault
import VaultModel

/// Finds new links to titles by running the operator's program.
package struct LinkProgram: Sendable {
    private let runner: ProgramRunner
    private let turns = ProgramTurns(atOnce: 4)

    package init() { self.init(ProgramRunner()) }

    init(_ runner: ProgramRunner) { self.runner = runner }

    /// Makes the program in a vault's settings find new links for as long as the vault is open.
    ///
    /// - Parameter report: called with a sentence each time the program has failed. The closure must not block.
    package func serve(_ vault: Vault, report: @escaping @Sendable (String) -> Void) {
        vault.setLinkRefresher { [weak vault, self] refused in
            guard let program = try await vault?.settings.programs().refresh else { return nil }
            do {
                return try await link(in: refused, from: program)
            } catch let failure as ProgramFailure {
                report("refresh-command found no new URL for a title: \(failure.reason)")
                return nil
            }
        }
    }

    private func link(in refused: RefusedLink, from program: ProgramInvocation) async throws -> FreshLink {
        let question = LinkQuestion(contentID: refused.contentID, status: refused.status)
        let input = try JSONText.bytes(of: question) + [UInt8(ascii: "\n")]
        let link = try await turns.taking { try LinkAnswer.link(in: try await runner.run(program, input: input)) }
        do {
            try link.check(for: refused)
        } catch let error as VaultError {
            throw ProgramFailure(reason: error.message)
        }
        return link
    }
}

/// The program's input, which is one line of JSON.
struct LinkQuestion: Codable, Hashable, Sendable {
    let contentID: String
    /// The status code with which the origin refused the request.
    let status: Int
}

/// The program's output, which is either one line with a URL, or a JSON object.
struct LinkAnswer: Codable, Hashable, Sendable {
    let url: String
    let headers: [String: String]?

    /// Parses the program's output.
    ///
    /// - Throws: ``ProgramFailure`` if the output has neither form. The reason repeats none of the output.
    static func link(in output: [UInt8]) throws -> FreshLink {
        let text = String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw ProgramFailure(reason: "it printed nothing") }
        do {
            guard text.hasPrefix("{") else { return FreshLink(try MediaURL(text)) }
            let answer: LinkAnswer = try JSONText.read(from: Array(text.utf8))
            return FreshLink(
                try MediaURL(answer.url), fields: try HeaderFile.fields(ofProgram: answer.headers ?? [:]))
        } catch {
            throw ProgramFailure(
                reason: "it printed neither one http or https URL nor JSON with url and headers that can be sent")
        }
    }
}

/// Admits a few callers at a time, in the order in which they arrive.
actor ProgramTurns {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(atOnce count: Int) { free = count }

    /// Runs `body` when it is the caller's turn.
    nonisolated func taking<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        await enter()
        do {
            try Task.checkCancellation()
            let result = try await body()
            await leave()
            return result
        } catch {
            await leave()
            throw error
        }
    }

    private func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func leave() {
        guard !waiting.isEmpty else {
            free += 1
            return
        }
        waiting.removeFirst().resume()
    }
}
