import MediaVault
import VaultService

/// Carries out a runbook for a user. It announces the steps, asks before them, and prints their results.
struct RunbookConsole: Sendable {
    /// The commands that continue after a failure.
    struct Again: Sendable {
        /// The command to use until the rotation is known to be done.
        let fromStart: String
        /// The command to use once the rotation is done.
        let resumed: String
    }

    let text: RunbookText
    let again: Again
    /// Whether to ask before each step.
    let asks: Bool
    /// Whether the rotation is already done.
    var isResumed = false
    /// The percentage of the held media to check before anything is destroyed.
    var sample = 0
    /// Whether to print a JSON object on standard output at the end, and the text on standard error.
    var isJSON = false

    /// Carries out a runbook.
    ///
    /// - Parameters:
    ///   - connector: the connector to the vault.
    ///   - slots: the keys of the slots to keep if the root key is replaced.
    ///   - dropsOtherSlots: whether to drop the slots that none of these keys opens.
    ///   - runbook: returns the runbook to carry out, given the state of the keys.
    /// - Throws: ``AlreadyReported`` if anything was left undone.
    func run(
        on connector: VaultConnector, slots: [SlotKey] = [], dropsOtherSlots: Bool = false,
        _ runbook: (KeysDocument) async throws -> KeyRunbook
    ) async throws {
        var (latest, state) = (RunbookProgress(), nil as KeysDocument?)
        let end: Result<Void, any Error>
        do {
            try await carryOut(on: connector, slots, dropsOtherSlots, runbook, &latest, &state)
            end = .success(())
        } catch {
            end = .failure(error)
        }
        if isJSON {
            let record = RunbookRecord(latest, isDone: (try? end.get()) != nil, state)
            try await StandardOutput.shared.writeJSON(record)
        }
        try end.get()
    }

    private func carryOut(
        on connector: VaultConnector, _ slots: [SlotKey], _ dropsOtherSlots: Bool,
        _ runbook: (KeysDocument) async throws -> KeyRunbook, _ latest: inout RunbookProgress,
        _ state: inout KeysDocument?
    ) async throws {
        do {
            try await connector.act { vault in
                let keys = try await vault.call(Operations.Keys.list)
                state = keys
                try await say(RunbookText.generations(keys))
                let operations = ClientKeyOperations(vault, slots: slots, dropsOtherSlots: dropsOtherSlots)
                var rest = try await runbook(keys)
                if isResumed { rest = try await resume(rest, keys, operations) }
                var display: ProgressDisplay?
                latest = try await operations.carryOut(rest, willBegin: { try await begin($0, of: rest, on: vault) }) {
                    progress in
                    if progress.ended.count > latest.ended.count, let ended = progress.ended.last {
                        await display?.end(isComplete: true)
                        await Terminal.shared.keepLine()
                        display = nil
                        try await report(ended)
                    } else if progress.step == .rewrap {
                        if Terminal.shared.canRedraw {
                            await Terminal.shared.redraw("rewrapping  \(progress.done) of \(progress.total) keys")
                        }
                    } else if progress.total > 0, let step = progress.step {
                        var shown = display ?? ProgressDisplay(RunbookText.name(step))
                        await shown.show(TransferProgress(held: progress.done, total: progress.total))
                        display = shown
                    }
                    latest = progress
                }
                let after = try await vault.call(Operations.Keys.list)
                state = after
                try await say(RunbookText.generations(after, since: keys))
                let isSame = after.current == keys.current && after.older.map(\.number) == keys.older.map(\.number)
                if text == .renewal, !isSame { await Terminal.shared.say(KeysText.backUp) }
            }
        } catch let error as VaultError {
            await fail(error, at: latest)
            throw AlreadyReported(status: ExitStatus(error.code))
        } catch let error as StoppedByUser {
            await Terminal.shared.say("stopped before this step; run \(next(latest)) to continue")
            throw AlreadyReported(status: error.status)
        } catch let error as CancellationError {
            await Terminal.shared.say("run \(next(latest)) to continue")
            throw error
        }
        guard !latest.isComplete else { return }
        await Terminal.shared.say("not all was done: see above; fix that, then run \(next(latest)) to continue")
        throw AlreadyReported(status: RunbookText.status(latest))
    }

    /// Returns the remaining steps of a runbook whose rotation is done.
    private func resume(
        _ runbook: KeyRunbook, _ keys: KeysDocument, _ operations: ClientKeyOperations
    ) async throws -> KeyRunbook {
        let rest = try await operations.resumed(runbook)
        let created = keys.generations.first { $0.number == keys.current }?.created ?? 0
        try await say(["1. rotate: already done, generation \(keys.current) was created \(KeysText.day(created))"])
        return rest
    }

    /// Announces a step, and lets the user stop before the step begins.
    private func begin(_ step: KeyRunbook.Step, of runbook: KeyRunbook, on vault: any VaultClient) async throws {
        if case .retire = step, sample > 0 { try await check(vault) }
        try await say(text.announcement(step, of: runbook))
        guard asks, text.asks(before: step) else { return }
        await Terminal.shared.say("continue? type y and press Enter")
        guard try await TypedAnswer.isYes() else { throw StoppedByUser() }
    }

    /// Checks a sample of the held media.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if any of the sample is damaged, or `storage` if some of it
    ///   cannot be read.
    private func check(_ vault: any VaultClient) async throws {
        let name = "checking \(sample) % of the held media"
        var display = ProgressDisplay(name)
        let found = try await vault.follow(
            Operations.Upkeep.verify, VerificationRequest(VerifyOptions(sample: Double(sample)), of: [])
        ) {
            await display.show(TransferProgress(held: $0.bytesOpened, total: $0.bytesTotal))
        }
        await display.end()
        guard found.isSound else {
            throw VaultError(
                found.remaining > 0 ? .integrity : .storage,
                "\(name): found \(Count.of(found.remaining, "damaged piece")), and "
                    + "\(Count.of(found.unreadable, "file")) that cannot be read",
                hint: .repair)
        }
        try await say(["\(name): done"])
    }

    private func report(_ ended: RunbookProgress.Ended) async throws {
        try await say(RunbookText.results(ended))
        for problem in RunbookText.problems(ended) { await Terminal.shared.say(problem) }
    }

    private func fail(_ error: VaultError, at progress: RunbookProgress) async {
        await Terminal.shared.keepLine()
        await Terminal.shared.say(error.text)
        if isResumed, progress.ended.isEmpty, progress.step == nil, [.invalidArgument, .integrity].contains(error.code)
        {
            await Terminal.shared.say("step 1 is not known to be done; run \(again.fromStart) without --resume")
            return
        }
        let failed = progress.step.map { "\(RunbookText.name($0)) failed" } ?? "the next step was not started"
        await Terminal.shared.say(
            "\(progress.step == nil && progress.ended.isEmpty ? "nothing was done" : failed): see above; fix that, "
                + "then run \(next(progress)) to continue")
    }

    /// Returns the command with which to continue.
    private func next(_ progress: RunbookProgress) -> String {
        let hasRotated = progress.ended.contains { [.rotate, .rotateRoot].contains($0.step) }
        return isResumed || hasRotated ? again.resumed : again.fromStart
    }

    private func say(_ lines: [String]) async throws {
        for line in lines {
            if isJSON {
                await Terminal.shared.say(line)
            } else {
                try await StandardOutput.shared.write(Terminal.printable(line) + "\n")
            }
        }
    }
}

/// The command line of this run, which is used in messages that state how to continue.
struct GivenCommand: Hashable, Sendable {
    /// The name of the subcommand, or of the script that runs it.
    private let name: String
    private var options: [String]

    /// - Parameters:
    ///   - subcommand: the words of the subcommand, such as `keys renew`.
    ///   - arguments: this process's arguments, in which options may precede the words of the subcommand.
    ///   - environment: the environment, whose variable `MEDIAVAULT_SCRIPT` may contain the script's name and own
    ///     options, quoted for a shell.
    init(
        _ subcommand: String, arguments: [String] = (try? ProcessInput.arguments()) ?? [],
        in environment: ProcessEnvironment = .current
    ) {
        name = environment["MEDIAVAULT_SCRIPT"] ?? subcommand
        var (options, rest) = ([String](), arguments[...])
        for _ in subcommand.split(separator: " ") {
            options += GlobalOptions.taken(from: &rest)
            rest = rest.dropFirst()
        }
        self.options = options + rest
    }

    /// The command line, quoted for a shell.
    var text: String { ([name] + options.map(Self.quoted)).joined(separator: " ") }

    /// Returns the command with a flag inserted before its options.
    func adding(_ flag: String) -> GivenCommand {
        var other = self
        other.options.insert(flag, at: 0)
        return other
    }

    /// Returns the command without some of its options.
    ///
    /// - Parameters:
    ///   - flags: the options without a value to leave out.
    ///   - options: the options with a value to leave out.
    func without(flags: [String], options: [String] = []) -> GivenCommand {
        var (other, rest) = (self, self.options[...])
        other.options = []
        while let option = rest.popFirst() {
            if flags.contains(option) || options.contains(where: { option.hasPrefix($0 + "=") }) { continue }
            if options.contains(option) { _ = rest.popFirst() } else { other.options.append(option) }
        }
        return other
    }

    private static func quoted(_ argument: String) -> String {
        let isPlain = !argument.isEmpty && argument.utf8.allSatisfy { plain.contains($0) || $0 >= 0x80 }
        return isPlain ? argument : "'" + argument.replacing("'", with: #"'\''"#) + "'"
    }

    private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@%+,".utf8)
}

/// The error thrown if the user chose to stop.
private struct StoppedByUser: Error {
    let status = ExitStatus.failed
}
