import MediaVault
import VaultService

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
    func newRoot(isServed: Bool) throws -> NewRoot {
        guard !isServed || keys.allSatisfy(\.isFoundByOthers) else {
            throw UsageError(
                "--revoke needs what opens the slots that stay, and a running service takes that from a key or passphrase "
                    + "file or a credential of its unit; name one, or end the service and run this again")
        }
        // A credential that is named to a service is one of that unit's.
        let own = isServed ? kept.filter { !$0.isCredentialName } : kept
        return NewRoot(
            openedBy: try own.map { try $0.unlock }, besideOtherKeys: own.count < kept.count,
            droppingOtherSlots: dropsOtherSlots)
    }

    /// Does it. Every older generation is tried, whatever another one is needed for. Where it fails it says what goes on
    /// with it.
    ///
    /// - Returns: of each that had to stay, why.
    func run(on vault: any VaultOperator) async throws -> [VaultError] {
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
        _ generations: [KeysDocument.Generation], on vault: any VaultOperator
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
