import ArgumentParser
import MediaVault
import VaultService

/// Changes a keyring from the command: unlocks its file here, and hands what is to be done to whoever owns the vault. So
/// no secret is sent to the service.
struct KeyringChanger: Sendable {
    private let finder: VaultConnector
    let orders: KeyringOrders
    /// What opens the keyring now.
    let unlock: Unlock
    /// Whether a service owns the vault.
    private let isServed: Bool

    /// Unlocks the keyring, asking at the terminal where nothing is named.
    init(_ access: VaultAccess, _ waiting: WaitOption) async throws {
        let opener = try await access.opener()
        let client = ControlClient(folder: opener.place.folder)
        orders = try await KeyringOrders.open(keyring: opener.place.keyring, unlock: opener.unlock)
        unlock = opener.unlock
        isServed = await client.isAnswered()
        finder = VaultConnector(
            client: client, opener: isServed ? nil : opener, laterOpener: { opener }, limits: nil,
            isPatient: waiting.isPatient)
    }

    /// The new root key of a revocation, for the order before it to be tried with; nil where there is none.
    ///
    /// - Throws: as ``RootRevocation/newRoot(isServed:)``.
    func newRoot(of revocation: RootRevocation?) throws -> RootRotation? { try revocation?.newRoot(isServed: isServed) }

    /// Has the owner carry out an order, and what is to follow it.
    ///
    /// - Parameter done: what is said once the order is carried out, whatever becomes of what follows.
    /// - Returns: as ``RootRevocation/run(on:)``; nil where nothing follows.
    @discardableResult
    func carryOut(
        _ order: KeyringOrder, saying done: String? = nil, then revocation: RootRevocation? = nil
    ) async throws -> [VaultError]? {
        try await Interruption.cancelling("the keyring is as it was, or changed; keys slot list shows which") {
            try await finder.act { vault in
                try await vault.carryOut(order)
                if let done { await Terminal.shared.say(done) }
                return try await revocation?.run(on: vault)
            }
        }
    }

    /// Says what a way that is gone still opens.
    ///
    /// - Parameter stayed: what ``carryOut(_:then:)`` gave.
    /// - Throws: ``Reported`` where a generation had to stay, with the exit code that `keys retire` has for it.
    static func tell(of way: String, _ stayed: [VaultError]?) async throws {
        guard let stayed else {
            await Terminal.shared.say(
                "whoever knew \(way) and copied the keyring opens that copy still, and has the root key out of it; "
                    + "where that may be so, run keys rotate --root, keys rewrap, and keys retire, which is what "
                    + "--revoke does")
            return
        }
        guard let first = stayed.first else {
            await Terminal.shared.say(
                "a new root key is made, every key is wrapped anew, and the older generations are destroyed: "
                    + "whoever knew \(way) and copied the keyring opens nothing of this vault's folder with that copy")
            return
        }
        for error in stayed { await Terminal.shared.say(error.message) }
        await Terminal.shared.say(
            "a new root key is made, but \(stayed.count) of the older generations had to stay: whoever knew \(way) and "
                + "copied the keyring has their keys; remove what needs them, then run keys retire for each")
        throw Reported(status: ExitStatus(first.code))
    }
}

/// Makes what somebody has out of a copied keyring worth nothing: a new root key, every key wrapped anew, and the older
/// generations destroyed.
struct RootRevocation: Sendable {
    /// What opens the slot that the order before it brings; nil where that brings none.
    let new: Unlock?
    /// What opens the other slots that stay.
    let kept: [SlotKey]
    /// Whether the slots that none of them opens go.
    let dropsOtherSlots: Bool

    private var keys: [SlotKey] { [new].compactMap { $0.map { .unlock($0) } } + kept }

    /// What the new root key comes to, to be tried before anything changes.
    ///
    /// - Parameter isServed: whether a service does the work, which finds secrets in files and in its unit alone.
    /// - Throws: ``UsageError``; ``VaultError`` with code `invalidArgument` where this process was lent no credentials.
    func newRoot(isServed: Bool) throws -> RootRotation {
        guard !isServed || keys.allSatisfy(\.isFoundByOthers) else {
            throw UsageError(
                "--revoke needs what opens the slots that stay, and a running service takes that from a key or passphrase "
                    + "file or a credential of its unit; name one, or end the service and run this again")
        }
        // A credential that is named to a service is one of that unit's.
        let own = isServed ? kept.filter { !$0.isCredentialName } : kept
        return RootRotation(
            openedBy: try own.map { try $0.unlock }, besideOtherKeys: own.count < kept.count,
            droppingOtherSlots: dropsOtherSlots)
    }

    /// Does it. Every older generation is tried, whatever another one is needed for. Where it fails it says what goes on
    /// with it.
    ///
    /// - Returns: of each that had to stay, why.
    func run(on vault: any VaultClient) async throws -> [VaultError] {
        var step = RevocationStep.rotateRoot
        do {
            let older = try await vault.rotateRoot(unlockedBy: keys, droppingOtherSlots: dropsOtherSlots).older
            step = .rewrap
            _ = try await vault.rewrap { _ in }
            step = .retire
            return try await retire(older, on: vault)
        } catch {
            await Terminal.shared.say(step.remainder)
            throw error
        }
    }

    private func retire(
        _ generations: [KeysDocument.Generation], on vault: any VaultClient
    ) async throws -> [VaultError] {
        var stayed: [VaultError] = []
        for generation in generations {
            do {
                _ = try await vault.retire(generation.number)
            } catch let error as VaultError where error.code == .inUse {
                stayed.append(error)
            }
        }
        return stayed
    }
}

/// How far a revocation has come: the step that is not known to be done.
enum RevocationStep: CaseIterable {
    case rotateRoot, rewrap, retire

    /// What is said where it was broken off: how things stand, and which commands go on.
    var remainder: String {
        switch self {
        case .rotateRoot:
            "the root key is not known to be another: copies of the keyring may open what they did; go on with "
                + "keys rotate --root and what opens the slots that stay, keys rewrap, and keys retire for each older "
                + "generation"
        case .rewrap:
            "a new root key is made, and copies of the keyring open the older generations still; go on with keys rewrap, "
                + "and keys retire for each older generation"
        case .retire:
            "a new root key is made, and every key is wrapped anew that opens; go on with keys retire for each older "
                + "generation that keys list shows"
        }
    }
}

/// The slots that stay when the root key is made anew: what opens them is needed to seal it for them.
struct KeptSlots: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "For a new root key: a key file that opens another slot, which stays. May be given often.",
            valueName: "file"))
    var slotKeyFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "For a new root key: a passphrase file that opens another slot, which stays. May be given often.",
            valueName: "file"))
    var slotPassphraseFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "For a new root key: a credential that opens another slot, which stays; a running service takes its own. May be given often.",
            valueName: "name"))
    var slotCredential: [String] = []

    @Flag(help: "For a new root key: drop the slots that nothing given here opens.")
    var dropSlots = false

    /// The options, as messages name them.
    static let names = "--slot-key-file, --slot-passphrase-file, --slot-credential and --drop-slots"

    /// Whether none of it was given.
    var isEmpty: Bool {
        slotKeyFile.isEmpty && slotPassphraseFile.isEmpty && slotCredential.isEmpty && !dropSlots
    }

    /// What opens the slots that are named.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` where one is no credential's name.
    func keys(allowLoose: Bool) throws -> [SlotKey] {
        let folder = ProcessEnvironment.current.workingDirectory
        let files: [Unlock] =
            slotKeyFile.map { .keyFile(path: AbsolutePath.of($0, from: folder), allowLoose: allowLoose) }
            + slotPassphraseFile.map {
                .passphraseFile(path: AbsolutePath.of($0, from: folder), allowLoose: allowLoose)
            }
        return try files.map { .unlock($0) } + slotCredential.map { .credential(try CredentialName($0)) }
    }
}

/// Whether a way that goes is to be worth nothing, in a copied keyring too.
struct RevokeOptions: ParsableArguments {
    @Flag(
        help: """
            Then make a new root key, wrap every key anew and destroy the older generations, so that a copied keyring \
            opens nothing of this vault's folder any more. One that something needs stays, with exit code 1.
            """)
    var revoke = false

    @OptionGroup var kept: KeptSlots

    func validate() throws {
        guard revoke || kept.isEmpty else {
            throw ValidationError("\(KeptSlots.names) belong to --revoke")
        }
    }

    /// The revocation that is wanted; nil where none is.
    ///
    /// - Parameters:
    ///   - new: what opens the slot that the order brings.
    ///   - unlocks: what opens slots that stay, beside those that are named.
    func revocation(new: Unlock? = nil, unlocks: [Unlock], allowLoose: Bool) throws -> RootRevocation? {
        guard revoke else { return nil }
        return RootRevocation(
            new: new, kept: try unlocks.map { .unlock($0) } + kept.keys(allowLoose: allowLoose),
            dropsOtherSlots: kept.dropSlots)
    }
}
