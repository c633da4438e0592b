package import MediaVault

/// Storage limits, in bytes and seconds. An omitted limit is unspecified, and 0 means no limit.
package struct LimitsDocument: Codable, Hashable, Sendable {
    package var maxSize: SizeText?
    package var maxAge: Int64?
    package var minFree: SizeText?
    /// Whether the size limit may evict titles that were downloaded explicitly.
    package var evictDownloads: Bool?
    /// Whether to report what would be removed without removing anything.
    package var dryRun: Bool?

    package init(
        maxSize: SizeText? = nil, maxAge: Int64? = nil, minFree: SizeText? = nil, evictDownloads: Bool? = nil,
        dryRun: Bool? = nil
    ) {
        self.maxSize = maxSize
        self.maxAge = maxAge
        self.minFree = minFree
        self.evictDownloads = evictDownloads
        self.dryRun = dryRun
    }

    /// Whether the document specifies any limit.
    var namesAny: Bool { maxSize != nil || maxAge != nil || minFree != nil || evictDownloads != nil }

    /// Checks the limits.
    ///
    /// - Throws: ``VaultError`` with code `invalidArgument` if a limit is invalid.
    func check() throws {
        guard (0...ContentInformation.maxBytes).contains(maxAge ?? 0) else {
            throw VaultError(.invalidArgument, "maxAge must be 0, for no limit, or a positive number of seconds")
        }
        guard maxSize != .standard else {
            throw VaultError(
                .invalidArgument, "maxSize has no default; give a size with a unit, such as 500M, or 0 for no limit")
        }
    }

    /// Returns `limits`, overridden by the limits specified here.
    func applied(to limits: StorageLimits = StorageLimits()) -> StorageLimits {
        StorageLimits(
            maxSize: maxSize?.bytes ?? limits.maxSize, maxAge: maxAge ?? limits.maxAge,
            minFree: minFree.map(\.bytes) ?? limits.minFree, evictsDownloads: evictDownloads ?? limits.evictsDownloads)
    }
}

/// The body of `POST /api/v1/verifications`.
package struct VerificationRequest: Codable, Sendable {
    /// The resources to check, including all parts of a title; omitted to check everything.
    let resources: [ReferenceDocument]?
    let repair: Bool?
    /// The percentage of segments to check.
    let sample: Double?
    /// The rate limit in bytes per second.
    let limitRate: Int64?
    /// Whether a repair removes resources that only a retired generation could open.
    let forgetRetired: Bool?

    package init(_ options: VerifyOptions, of references: [MediaReference]) {
        resources = references.isEmpty ? nil : references.map { ReferenceDocument($0) }
        repair = options.repairs
        sample = options.sample
        limitRate = options.bytesPerSecond
        forgetRetired = options.forgetsRetired ? true : nil
    }

    /// - Throws: as ``ReferenceDocument/reference(in:)``.
    func references(in vault: Vault) async throws -> [MediaReference] {
        if let resources, resources.isEmpty {
            throw VaultError(.invalidArgument, "resources is empty; omit it to verify everything")
        }
        return try await (resources ?? []).references(in: vault)
    }

    var options: VerifyOptions {
        VerifyOptions(
            repairs: repair ?? false, sample: sample, bytesPerSecond: limitRate, forgetsRetired: forgetRetired ?? false)
    }
}

/// The body of `POST /api/v1/reseals`.
package struct ResealRequest: Codable, Sendable {
    /// The resources to reseal; omitted to reseal all.
    let resources: [ReferenceDocument]?
    /// The rate limit in bytes per second.
    let limitRate: Int64?

    package init(_ references: [MediaReference], bytesPerSecond: Int64?) {
        resources = references.isEmpty ? nil : references.map { ReferenceDocument($0) }
        limitRate = bytesPerSecond
    }

    /// - Throws: as ``ReferenceDocument/reference(in:)``.
    func references(in vault: Vault) async throws -> [MediaReference] {
        if let limitRate, limitRate <= 0 {
            throw VaultError(.invalidArgument, "limitRate must be at least 1 byte per second")
        }
        // An empty list does not mean everything, because then a client's mistake could start a great deal of work.
        if let resources, resources.isEmpty {
            throw VaultError(.invalidArgument, "resources is empty; omit it to reseal everything")
        }
        return try await (resources ?? []).references(in: vault)
    }
}

/// The result of a shred.
package struct ShredDocument: Codable, Sendable {
    package struct Title: Codable, Sendable {
        package let url: String
        /// The number of bytes in the title's removed files.
        @OrNull package var bytes: Int64?
        /// The subject that identifies the title in the shred's receipt.
        @OrNull package var subject: String?
        @OrNull package var problem: ProblemDocument?
    }

    package let resources: [Title]
    /// `destroyed`, or `removed` if the generation that wrapped the keys still exists.
    package let outcome: Receipt.Outcome
    /// The current generation.
    package let generation: Int

    package init(_ report: ShredReport) {
        resources = report.titles.map { title in
            Title(
                url: title.url, bytes: title.bytes, subject: title.subject,
                problem: title.error.map { APIProblem.document($0) })
        }
        outcome = report.outcome
        generation = report.generation
    }
}

/// The body of `POST /api/v1/shreds`.
package struct ShredRequest: Codable, Sendable {
    let resources: [ReferenceDocument]
    let quick: Bool?
    /// Whether to revoke the named links to the resources; false if omitted.
    let links: Bool?

    package init(_ references: [MediaReference], quick: Bool, links: Bool) {
        resources = references.map { ReferenceDocument($0) }
        (self.quick, self.links) = (quick, links)
    }

    /// - Throws: as ``ReferenceDocument/reference(in:)``.
    func references(in vault: Vault) async throws -> [MediaReference] {
        guard !resources.isEmpty else {
            throw VaultError(.invalidArgument, "resources is empty; name the resources to shred")
        }
        return try await resources.references(in: vault)
    }
}

/// The body of `POST /api/v1/destructions`.
package struct DestructionRequest: Codable, Sendable {
    /// The id of the vault to destroy. It is required so that a client cannot destroy another vault by mistake.
    let vault: String

    package init(vault: String) { self.vault = vault }
}
