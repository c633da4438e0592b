import ArgumentParser
import MediaVault
import VaultService

/// Makes copied keyrings worthless by creating a new root key, rewrapping every key, and destroying the older
/// generations.
struct RootRevocation: Sendable {
    /// The key of the slot that the preceding order adds; nil if the order adds no slot.
    let new: Unlock?
    /// The keys of the other slots to keep.
    let kept: [SlotKey]
    /// Whether to drop the slots that none of these keys opens.
    let dropsOtherSlots: Bool

    private var keys: [SlotKey] { [new].compactMap { $0.map { .unlock($0) } } + kept }

    /// Returns the rotation of the root key, which is to be tried before anything changes.
    ///
    /// - Parameter isServed: whether a service does the work. A service finds secrets only in files and in its unit's
    ///   credentials.
    /// - Throws: ``UsageError`` if the service cannot find a secret, or ``VaultError`` with code `invalidArgument` if a
    ///   credential is named, but this process has none.
    func newRoot(isServed: Bool) throws -> RootRotation {
        guard !isServed || keys.allSatisfy(\.isFoundByOthers) else {
            throw UsageError(
                "--revoke needs the keys of the slots to keep, and a running service reads them only from a key or "
                    + "passphrase file or a credential of its unit; use one, or stop the service and run this again")
        }
        // If a service does the work, a credential name refers to a credential of the service's unit, so it is not
        // resolved here.
        let own = isServed ? kept.filter { !$0.isCredentialName } : kept
        return RootRotation(
            openedBy: try own.map { try $0.unlock }, ownerHasOtherKeys: own.count < kept.count,
            droppingOtherSlots: dropsOtherSlots)
    }

    /// Runs the revocation. It tries to destroy every older generation, even if some cannot be destroyed.
    ///
    /// If the revocation fails, a message states how to continue.
    ///
    /// - Returns: the errors for the generations that had to stay.
    func run(on vault: any VaultClient) async throws -> [VaultError] {
        let operations = ClientKeyOperations(vault, slots: keys, dropsOtherSlots: dropsOtherSlots)
        var done = 0
        do {
            let progress = try await operations.carryOut(.rootRevocation) { done = $0.ended.count }
            return progress.ended.flatMap(\.outcome.kept)
        } catch let error as ServiceGone {
            // The caller then does the work in this process. If some of it has already been done, the remaining
            // commands are stated first.
            if done > 0 { await Terminal.shared.say(Self.remainder(after: done)) }
            throw error
        } catch let error as VaultError {
            await Terminal.shared.say(error.text)
            await Terminal.shared.say(Self.remainder(after: done, isRefused: Self.refusals.contains(error.code)))
            throw AlreadyReported(status: ExitStatus(error.code))
        } catch {
            await Terminal.shared.say(Self.remainder(after: done))
            throw error
        }
    }

    /// Reports what a removed unlock method can still open, given a copied keyring.
    ///
    /// - Parameter unretired: the result of ``run(on:)``; nil if there was no revocation.
    /// - Throws: ``AlreadyReported`` if a generation had to stay, with the exit code that `keys retire` would have.
    static func tell(of way: String, _ unretired: [VaultError]?) async throws {
        guard let unretired else {
            await Terminal.shared.say(
                "anyone who knew \(way) and copied the keyring can still open that copy, and has the root key from it; "
                    + "if that may have happened, run keys revoke-root, which is what --revoke does afterwards")
            return
        }
        await Terminal.shared.say("all playback links and tokens are void; back up the keyring again")
        guard let first = unretired.first else {
            await Terminal.shared.say(
                "created a new root key, moved every key to a new generation, and destroyed the older ones: "
                    + "with \(way), a copied keyring no longer opens anything in this vault's folder")
            return
        }
        for error in unretired { await Terminal.shared.say(error.text) }
        await Terminal.shared.say(
            "created a new root key, but \(Count.of(unretired.count, "older generation")) had to stay: anyone who knew "
                + "\(way) and copied the keyring has their keys; fix what is reported above, then run keys retire for "
                + "each")
        throw AlreadyReported(status: ExitStatus(first.code))
    }

    /// The codes of the errors with which a rotation of the root key is refused before it changes anything.
    private static let refusals: Set<VaultError.Code> = [
        .invalidArgument, .wrongKey, .busy, .owned, .noVault, .olderKeyring, .foreignKeyring,
    ]

    /// Returns the message to print after an interruption, which states what has been done and the commands with which
    /// to continue.
    ///
    /// - Parameters:
    ///   - done: the number of steps of the revocation that are known to be done.
    ///   - isRefused: whether the error shows that the next step changed nothing.
    static func remainder(after done: Int, isRefused: Bool = false) -> String {
        if done == 0, isRefused {
            return "the root key was not changed: see above; fix that, then run keys revoke-root with the keys of the "
                + "slots to keep"
        }
        return interrupted(after: done)
    }

    private static func interrupted(after done: Int) -> String {
        switch KeyRunbook.rootRevocation.steps.dropFirst(done).first {
        case .rewrap:
            "created a new root key, so all playback links are void, but copies of the keyring still open the older "
                + "generations; continue with keys rewrap, and keys retire for each older generation"
        case .retire, nil:
            "created a new root key, so all playback links are void, and moved every key that opens; continue with keys retire for each older "
                + "generation that keys list shows"
        default:
            "the root key may not have changed, so copies of the keyring may still open everything; continue with "
                + "keys revoke-root and the keys of the slots to keep"
        }
    }
}

extension RunbookProgress.Outcome {
    /// The errors for the generations that had to stay.
    var kept: [VaultError] {
        guard case .retired(_, let kept) = self else { return [] }
        return kept
    }
}

/// The options that name the slots to keep when the root key is replaced. Their keys are needed to seal the new root
/// key for them.
struct KeptSlots: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "For a new root key: key file of another slot to keep. May be repeated.",
            valueName: "file"), completion: .file())
    var slotKeyFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "For a new root key: passphrase file of another slot to keep. May be repeated.",
            valueName: "file"), completion: .file())
    var slotPassphraseFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "For a new root key: credential of another slot to keep; a running service reads its own. May be repeated.",
            valueName: "name"))
    var slotCredential: [String] = []

    @Flag(help: "For a new root key: drop the slots that no given key opens.")
    var dropSlots = false

    /// The names of the options that take a value.
    static let valueNames = ["--slot-key-file", "--slot-passphrase-file", "--slot-credential"]
    /// The name of the option that takes no value.
    static let flagName = "--drop-slots"
    /// The names of the options, for messages.
    static let names = valueNames.joined(separator: ", ") + " and " + flagName

    /// Whether none of the options is given.
    var isEmpty: Bool {
        slotKeyFile.isEmpty && slotPassphraseFile.isEmpty && slotCredential.isEmpty && !dropSlots
    }

    /// Returns the keys of the slots to keep.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a credential name is invalid.
    func keys(allowLoose: Bool) throws -> [SlotKey] {
        let environment = ProcessEnvironment.current
        let files: [Unlock] =
            try slotKeyFile.map { .keyFile(path: try environment.absolute($0), allowLoose: allowLoose) }
            + slotPassphraseFile.map {
                .passphraseFile(path: try environment.absolute($0), allowLoose: allowLoose)
            }
        return try files.map { .unlock($0) } + slotCredential.map { .credential(try CredentialName($0)) }
    }

    /// Returns the keys of the slots to keep, preceded by the key that unlocks the keyring for this command.
    ///
    /// - Parameter opener: the opener that has this command's key; nil if a service owns the vault.
    func keys(besides access: VaultAccess, _ opener: VaultOpener?) async throws -> [SlotKey] {
        [try await Self.own(access.unlocking, opener)]
            + (try keys(allowLoose: access.unlocking.allowLooseKeyFile))
    }

    private static func own(_ unlocking: UnlockOptions, _ opener: VaultOpener?) async throws -> SlotKey {
        if let opener { return .unlock(opener.unlock) }
        switch try unlocking.source() {
        // If a service is running, there is no prompt, because a typed passphrase cannot be passed on to the service.
        case .prompt: throw SlotKey.unfound
        // The credential is that of the service's unit. This process may not have it.
        case .credential(let name): return .credential(name)
        default: return .unlock(try await unlocking.unlock())
        }
    }
}

/// The options to make a removed unlock method worthless even for someone with a copied keyring.
struct RevokeOptions: ParsableArguments {
    @Flag(
        help: """
            Then create a new root key, rewrap every key and destroy the older generations, so that a copied keyring \
            opens nothing in this vault's folder any more. All playback links and tokens become invalid. If \
            something still needs a generation, it stays: exit code 1.
            """)
    var revoke = false

    @OptionGroup var kept: KeptSlots

    func validate() throws {
        guard revoke || kept.isEmpty else {
            throw ValidationError("\(KeptSlots.names) require --revoke")
        }
    }

    /// Returns the requested revocation; nil if none is requested.
    ///
    /// - Parameters:
    ///   - new: the key of the slot that the preceding order adds; nil if it adds none.
    ///   - unlocks: the keys of slots to keep, in addition to those that the options name.
    func revocation(new: Unlock? = nil, unlocks: [Unlock], allowLoose: Bool) throws -> RootRevocation? {
        guard revoke else { return nil }
        return RootRevocation(
            new: new, kept: try unlocks.map { .unlock($0) } + kept.keys(allowLoose: allowLoose),
            dropsOtherSlots: kept.dropSlots)
    }
}
