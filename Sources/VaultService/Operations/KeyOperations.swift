package import MediaVault
import VaultModel

extension Operations {
    /// Operations on keys and the audit log.
    package enum Keys {
        static let all: [any AnyOperation] = [
            list, rotate, rewrap, retire, reseal, shred, keyring, changeKeyring, audit, destroy,
        ]

        /// Returns the state of the keys.
        package static let list = Operation<EmptyDocument, KeysDocument>(.get, "keys", scope: .admin) { _, vault, _ in
            KeysDocument(try await vault.keys.report())
        }

        /// Creates a generation for new resources, replaces the root key, or changes the locator, and returns the new
        /// state of the keys.
        package static let rotate = Operation<RotationRequest, KeysDocument>(.post, "rotations", scope: .admin) {
            order, vault, caller in
            try order.check()
            if order.locator == true { return KeysDocument(try await vault.keys.changeLocator()) }
            guard order.root == true else { return KeysDocument(try await vault.keys.rotate()) }
            // A token must not let a client read files as the service's user.
            guard caller.isControl else {
                throw VaultError(
                    .invalidArgument,
                    "the root key can be replaced only through the control socket, on the service's machine",
                    hint: .rotateRootLocally)
            }
            return try await rotateRoot(
                of: vault, unlockedBy: (order.slots ?? []).map { try $0.key },
                droppingOtherSlots: order.dropSlots ?? false)
        }

        /// Replaces the root key. The secrets are read in this process.
        static func rotateRoot(
            of vault: Vault, unlockedBy keys: [SlotKey], droppingOtherSlots: Bool
        ) async throws -> KeysDocument {
            let unlocks = try keys.map { try $0.unlock }
            return KeysDocument(
                try await vault.keys.rotateRoot(unlockedBy: unlocks, droppingOtherSlots: droppingOtherSlots))
        }

        /// Rewraps every resource key under the current generation.
        package static let rewrap = LongOperation<EmptyDocument, RewrapProgress, RewrapReport>(
            .post, "rewraps", scope: .admin
        ) { _, vault, _ in
            { tell in try await report(of: vault.keys.rewrap(), \.report, tell) }
        }

        /// Retires a generation that is no longer needed, and returns the new state of the keys.
        package static let retire = Operation<RetirementRequest, KeysDocument>(.post, "retirements", scope: .admin) {
            order, vault, _ in
            KeysDocument(try await vault.keys.retire(order.generation))
        }

        /// Reseals resources under new keys, or all resources if the list is empty.
        package static let reseal = LongOperation<ResealRequest, ResealProgress, ResealReport>(
            .post, "reseals", scope: .admin
        ) { order, vault, _ in
            let references = try await order.references(in: vault)
            return { tell in
                try await report(
                    of: vault.keys.reseal(references, bytesPerSecond: order.limitRate), \.report, tell)
            }
        }

        /// Shreds resources, so that the keyring opens no old copy of their rows.
        package static let shred = Operation<ShredRequest, ShredDocument>(.post, "shreds", scope: .admin) {
            order, vault, _ in
            let references = try await order.references(in: vault)
            var named: [[AccessGrant]] = []
            for reference in order.links == true ? references : [] {
                named.append(try await RemovedLinks.find(toShredded: reference, in: vault))
            }
            let report = try await vault.keys.shred(references, quick: order.quick ?? false)
            // A title that could not be shredded keeps its links.
            try await RemovedLinks.revoke(zip(report.titles, named).flatMap { $0.error == nil ? $1 : [] }, in: vault)
            return ShredDocument(report)
        }

        /// Returns a summary of the slots in the keyring file.
        package static let keyring = Operation<EmptyDocument, KeyringSummary>(.get, "keyring", scope: .admin) {
            _, vault, _ in
            try await vault.keys.summary()
        }

        /// Changes the keyring, which the caller has unlocked.
        package static let changeKeyring = Operation<KeyringOrder, EmptyDocument>(.post, "keyring", scope: .admin) {
            order, vault, _ in
            try await vault.keys.carryOut(order)
            return EmptyDocument()
        }

        /// Returns the audit log and the result of checking it.
        package static let audit = Operation<AuditSelection, AuditReport>(.get, "audit", scope: .admin) {
            selection, vault, _ in
            guard selection.id != nil || selection.url != nil else { return try await vault.keys.audit() }
            let document = ReferenceDocument(id: selection.id, url: selection.url)
            return try await vault.keys.audit(about: [document.reference(in: vault)])
        }

        /// Makes the whole vault permanently unreadable.
        package static let destroy = Operation<DestructionRequest, DestructionReport>(
            .post, "destructions", scope: .admin
        ) {
            order, vault, _ in
            try await vault.destroy(vaultID: order.vault)
        }
    }

    /// Passes on the progress of a long operation, and returns the report with which it ends.
    static func report<Steps: AsyncSequence, Report>(
        of steps: Steps, _ report: (Steps.Element) -> Report?, _ tell: (Steps.Element) async throws -> Void
    ) async throws -> Report {
        var last: Report?
        for try await step in steps {
            last = report(step) ?? last
            try await tell(step)
        }
        // An operation that was not cancelled ends with its report.
        guard let last else { throw CancellationError() }
        return last
    }
}

/// The query of `GET /api/v1/audit`: one resource, or none for the whole log.
package struct AuditSelection: Codable, Sendable {
    let id: TitleID?
    let url: String?

    /// Selects the whole log.
    package init() { (id, url) = (nil, nil) }
}

/// The named links to titles that are removed or shredded.
enum RemovedLinks {
    /// Returns the named links to a title; none if the reference is unusable. The shred itself reports an unusable
    /// reference.
    static func find(toShredded title: MediaReference, in vault: Vault) async throws -> [AccessGrant] {
        do {
            return try await vault.access.namedLinks(to: title)
        } catch let error as VaultError where [.notHeld, .invalidURL, .invalidArgument].contains(error.code) {
            return []
        }
    }

    /// Revokes the named links to removed titles, so that no record names these titles.
    ///
    /// The links are revoked after the removal, because a title that could not be removed must keep its links. Until
    /// then, nobody can fetch the titles again through the links, because the vault prevents this for a minute after a
    /// removal.
    static func revoke(_ links: [AccessGrant], in vault: Vault) async throws {
        var known: Set<GrantID> = []
        let each = links.filter { known.insert($0.id).inserted }
        if !each.isEmpty { try await vault.access.revoke(each) }
    }
}
