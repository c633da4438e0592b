package import MediaVault

/// How far a reseal is.
package struct ResealStep: Codable, Sendable {
    package let bytes: Int64
    package let bytesTotal: Int64
    package let resources: Int
    package let resourcesTotal: Int

    package init(_ progress: ResealProgress) {
        bytes = progress.bytes
        bytesTotal = progress.bytesTotal
        resources = progress.resources
        resourcesTotal = progress.resourcesTotal
    }
}

/// What is asked of `POST /api/v1/reseals`.
struct ResealingOrder: Codable, Sendable {
    /// Everything where there is none.
    let resources: [ReferenceDocument]?
    /// Bytes in a second.
    let limitRate: Int64?

    init(_ references: [MediaReference], bytesPerSecond: Int64?) {
        resources = references.isEmpty ? nil : references.map { ReferenceDocument($0) }
        limitRate = bytesPerSecond
    }

    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func references() throws -> [MediaReference] {
        if let limitRate, limitRate <= 0 {
            throw VaultError(.invalidArgument, "a rate is at least one byte in a second")
        }
        // An empty list is no way to say everything: too much would be begun by mistake.
        if let resources, resources.isEmpty {
            throw VaultError(.invalidArgument, "the list names no resource; leave it out to reseal everything")
        }
        return try (resources ?? []).map { try $0.reference() }
    }
}

/// What a shred came to.
package struct ShredDocument: Codable, Sendable {
    package struct Title: Codable, Sendable {
        package let url: String
        /// The bytes of its files, which are gone.
        package let bytes: OrNull<Int64>
        /// What its receipt calls it.
        package let subject: OrNull<String>
        package let problem: OrNull<ProblemDocument>
    }

    package let resources: [Title]
    /// `destroyed`, or `removed` where the generation that wrapped the keys is still there.
    package let outcome: String
    /// The current generation.
    package let generation: Int

    package init(_ report: ShredReport) {
        resources = report.titles.map { title in
            Title(
                url: title.url, bytes: OrNull(title.bytes), subject: OrNull(title.subject),
                problem: OrNull(title.error.map { APIProblem.document($0) }))
        }
        outcome = report.outcome.rawValue
        generation = report.generation
    }
}

/// What is asked of `POST /api/v1/shreds`.
struct ShredOrder: Codable, Sendable {
    let resources: [ReferenceDocument]
    let quick: Bool?

    init(_ references: [MediaReference], quick: Bool) {
        resources = references.map { ReferenceDocument($0) }
        self.quick = quick
    }

    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func references() throws -> [MediaReference] {
        guard !resources.isEmpty else {
            throw VaultError(.invalidArgument, "the list names no resource; name what is to be shredded")
        }
        return try resources.map { try $0.reference() }
    }
}

/// What destroying a vault came to.
package struct DestructionDocument: Codable, Sendable {
    package let vault: String
    package let resources: Int
    /// Backup files of the keyring that were counted when they were made.
    package let backups: Int

    package init(_ report: DestructionReport) {
        vault = report.vaultID
        resources = report.resources
        backups = report.backups
    }
}

/// What is asked of `POST /api/v1/destructions`.
struct DestructionOrder: Codable, Sendable {
    /// The id of the vault that is meant: whoever asks has looked at it.
    let vault: String
}

/// The audit log, read and checked, as `/api/v1/audit` and `keys audit --json` tell it.
package struct AuditDocument: Codable, Sendable {
    package let sound: Bool
    /// Whether it was compared with the keyring.
    package let anchored: Bool
    package let vault: OrNull<String>
    /// The public key that signatures are checked with, in hex.
    package let key: OrNull<String>
    package let receipts: [Receipt]
    package let faults: [AuditFault]

    package init(_ report: AuditReport) {
        sound = report.isSound
        anchored = report.isAnchored
        vault = OrNull(report.vaultID)
        key = OrNull(report.publicKey)
        receipts = report.receipts
        faults = report.faults
    }
}
