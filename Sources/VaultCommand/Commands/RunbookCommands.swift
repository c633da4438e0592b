import ArgumentParser
import MediaVault
import VaultService

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

struct RevokeRootCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke-root",
        abstract: "Invalidate copied keyrings: new root key, keys re-wrapped, older generations destroyed.",
        discussion: """
            The same as keys rotate --root, keys rewrap, and keys retire for each older generation. The new root key is \
            sealed for the slot that opens the keyring here and for those whose keys are given. All playback links and \
            tokens become invalid. If something still needs a generation, it stays: exit code 1. Back up the \
            keyring again afterwards.
            """)

    @OptionGroup(title: "Slots") var kept: KeptSlots

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func run() async throws {
        let connector = try await owner.connector()
        let revocation = RootRevocation(
            new: nil, kept: try await kept.keys(besides: owner.access, connector.opener),
            dropsOtherSlots: kept.dropSlots)
        let unretired = try await connector.acting(ifInterrupted: "keys list shows what is done") {
            try await revocation.run(on: $0)
        }
        if output.isJSON {
            let record = RootRevocationRecord(unretired)
            try await StandardOutput.shared.writeJSON(record)
        }
        try await RootRevocation.tell(of: "the old root key", unretired)
    }
}

struct RespondToLeakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "respond-to-leak",
        abstract: "Make leaked keys useless, as far as a vault can.",
        discussion: """
            Asks before each step: rotates the root key and revokes all links, rewraps every key, reseals every title, \
            destroys the older generations, and checks the receipts. Playback continues. If a key or passphrase that \
            unlocks the vault has leaked, replace that first: add a slot with a new one and use that here; then \
            --drop-slots removes the old slot, and every other slot that no given key opens. Anyone who copied media \
            together with its keys can still read that copy.

            The exit code is 4 if keys or media did not open, and that of keys retire if older generations could not be \
            destroyed; otherwise that of the step that failed, and the later steps were not started.
            """)

    @Flag(help: "Create only a new generation, not a new root key: enough if only keys of titles leaked.")
    var keepRoot = false

    @OptionGroup(title: "Slots") var kept: KeptSlots

    @Flag(help: "Do not reseal: anyone who has a title's own key can still open its files.")
    var noReseal = false

    @Option(
        help: ArgumentHelp(
            "Maximum rate of sealing: \(ByteRate.forms) (default: 50M).", valueName: "rate"))
    var limitRate: ByteRate?

    @Flag(help: "Continue a response whose first step is done: rotate nothing.")
    var resume = false

    @Flag(help: "Do not ask before each step.")
    var yes = false

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    /// The default maximum number of bytes sealed per second, which leaves most of the disk's speed to players.
    private static let rate: Int64 = 50_000_000

    func validate() throws {
        guard !(keepRoot || resume) || kept.isEmpty else {
            throw ValidationError(
                "\(KeptSlots.names) apply only to a new root key; leave out --keep-root and --resume")
        }
    }

    func run() async throws {
        guard yes || isatty(STDIN_FILENO) == 1 else { throw UsageError("not a terminal; use --yes") }
        let connector = try await owner.connector()
        let slots = keepRoot || resume ? [] : try await kept.keys(besides: owner.access, connector.opener)
        let runbook = KeyRunbook.leakResponse(
            keepsRoot: keepRoot, reseals: !noReseal, bytesPerSecond: limitRate?.bytesPerSecond ?? Self.rate)
        let given = GivenCommand("keys respond-to-leak")
        let console = RunbookConsole(
            text: .leakResponse, again: Self.again(given), asks: !yes, isResumed: resume, isJSON: output.isJSON)
        let dropsSlots = kept.dropSlots
        try await Interruption.cancelling("keys list shows what is done") {
            try await console.run(on: connector, slots: slots, dropsOtherSlots: dropsSlots) { _ in runbook }
        }
        await Terminal.shared.say("back up the keyring again, and destroy its older backups")
        await Terminal.shared.say(
            "anyone who saw the keyring can still test whether this vault has a given URL: keys rotate --locator "
                + "prevents that, and ends playback")
    }

    /// Returns the command lines that continue a response. Once the rotation is done, the options for slots are
    /// omitted, because they apply only to the rotation.
    static func again(_ given: GivenCommand) -> RunbookConsole.Again {
        let resumed = given.without(flags: ["--resume", KeptSlots.flagName], options: KeptSlots.valueNames)
        return RunbookConsole.Again(
            fromStart: given.without(flags: ["--resume"]).text, resumed: resumed.adding("--resume").text)
    }
}

struct RenewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "renew",
        abstract: "Replace the generation of keys: rotate, rewrap, check a sample, retire.",
        discussion: """
            For a schedule. Destroys nothing if a key or the sample does not open. Every step may be repeated: a run \
            that failed continues with the generation that it created, unless that is older than --min-age. The \
            keyring file changes: back it up again.
            """)

    @Option(
        help: ArgumentHelp(
            "Rotate only if the current generation is at least so many days old: 0, 1, 2 …", valueName: "days"))
    var minAge = 1

    @Option(
        help: ArgumentHelp(
            "Check this much held media before destroying anything: 0 to 100 whole percent.", valueName: "percent"))
    var sample = 1

    @Option(help: ArgumentHelp("How many generations to keep, including the current one, from 1.", valueName: "n"))
    var keep = 2

    @OptionGroup var owner: OwnerAccess

    @OptionGroup var output: JSONOption

    func validate() throws {
        guard (0...99_999).contains(minAge) else { throw ValidationError("--min-age must be from 0 to 99999 days") }
        guard (0...100).contains(sample) else { throw ValidationError("--sample must be from 0 to 100 percent") }
        guard (1...99_999).contains(keep) else { throw ValidationError("--keep must be from 1 to 99999") }
    }

    func run() async throws {
        let connector = try await owner.connector()
        let (minAge, keep, isJSON) = (minAge, keep, output.isJSON)
        let given = GivenCommand("keys renew").text
        let console = RunbookConsole(
            text: .renewal, again: RunbookConsole.Again(fromStart: given, resumed: given), asks: false, sample: sample,
            isJSON: output.isJSON)
        try await Interruption.cancelling("keys list shows what is done") {
            try await console.run(on: connector) { keys in
                let rotates = keys.age >= minAge
                if !rotates {
                    let note = "the current generation is younger than \(Count.of(minAge, "day")); not rotated"
                    if isJSON {
                        await Terminal.shared.say(note)
                    } else {
                        try await StandardOutput.shared.write(note + "\n")
                    }
                }
                return .renewal(rotates: rotates, keeping: keep)
            }
        }
    }
}

extension KeysDocument {
    /// The age of the current generation in whole days.
    fileprivate var age: Int {
        let created = generations.first { $0.number == current }?.created ?? 0
        return Int(WallClock.now() - max(0, created)) / 86_400
    }
}
