package import MediaVault

/// The progress of a reseal.
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

/// The body of `POST /api/v1/reseals`.
struct ResealRequest: Codable, Sendable {
    /// The resources to reseal; all if omitted.
    let resources: [ReferenceDocument]?
    /// Bytes per second.
    let limitRate: Int64?

    init(_ references: [MediaReference], bytesPerSecond: Int64?) {
        resources = references.isEmpty ? nil : references.map { ReferenceDocument($0) }
        limitRate = bytesPerSecond
    }

    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func references() throws -> [MediaReference] {
        if let limitRate, limitRate <= 0 {
            throw VaultError(.invalidArgument, "limitRate must be at least 1 byte per second")
        }
        // An empty list does not mean everything: a mistake could start too much work.
        if let resources, resources.isEmpty {
            throw VaultError(.invalidArgument, "resources is empty; omit it to reseal everything")
        }
        return try (resources ?? []).map { try $0.reference() }
    }
}

/// The result of a shred.
package struct ShredDocument: Codable, Sendable {
    package struct Title: Codable, Sendable {
        package let url: String
        /// The bytes of its removed files.
        package let bytes: OrNull<Int64>
        /// The subject that names the title in its receipt.
        package let subject: OrNull<String>
        package let problem: OrNull<ProblemDocument>
    }

    package let resources: [Title]
    /// `destroyed`, or `removed` if the generation that wrapped the keys still exists.
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

/// The body of `POST /api/v1/shreds`.
struct ShredRequest: Codable, Sendable {
    let resources: [ReferenceDocument]
    let quick: Bool?

    init(_ references: [MediaReference], quick: Bool) {
        resources = references.map { ReferenceDocument($0) }
        self.quick = quick
    }

    /// - Throws: ``VaultError`` with code `invalidURL` or `invalidArgument`.
    func references() throws -> [MediaReference] {
        guard !resources.isEmpty else {
            throw VaultError(.invalidArgument, "resources is empty; name the resources to shred")
        }
        return try resources.map { try $0.reference() }
    }
}

/// The result of destroying a vault.
package struct DestructionDocument: Codable, Sendable {
    package let vault: String
    package let resources: Int
    /// The number of keyring backup files, counted when they were created.
    package let backups: Int

    package init(_ report: DestructionReport) {
        vault = report.vaultID
        resources = report.resources
        backups = report.backups
    }
}

/// The body of `POST /api/v1/destructions`.
struct DestructionRequest: Codable, Sendable {
    /// The id of the vault to destroy, so that the client cannot destroy another one by mistake.
    let vault: String
}

/// The audit log, read and checked, as `/api/v1/audit` and `keys audit --json` report it.
package struct AuditDocument: Codable, Sendable {
    package let sound: Bool
    /// Whether the log was compared with the keyring.
    package let anchored: Bool
    package let vault: OrNull<String>
    /// The public key that verifies the signatures, in hex.
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
