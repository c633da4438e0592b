package import MediaVault
import VaultModel

extension Operations {
    /// Operations on the vault's state, settings, limits and integrity.
    package enum Upkeep {
        static let all: [any AnyOperation] = [
            status, readiness, settings, changeSettings, prune, evictions, verify, revokeLinks,
        ]

        /// Returns the vault's counts and state.
        package static let status = Operation<EmptyDocument, StatusDocument>(.get, "status", scope: .read) {
            _, vault, _ in
            StatusDocument(try await vault.status())
        }

        /// Returns whether titles will play without the network, and the reasons for those that will not.
        package static let readiness = Operation<ReadinessSelection, ReadinessReport>(.get, "readiness", scope: .read) {
            selection, vault, _ in
            var options = selection.options
            if let collection = selection.collection {
                options.titles = Set(try await vault.collections.find(collection).titles.compactMap(\.id))
            }
            return try await vault.checks.readiness(options)
        }

        /// Returns the vault's settings.
        package static let settings = Operation<EmptyDocument, SettingsDocument>(.get, "settings", scope: .read) {
            _, vault, caller in
            try await settings(of: vault, for: caller)
        }

        private static func settings(of vault: Vault, for caller: Caller) async throws -> SettingsDocument {
            let settings = SettingsDocument(
                try await vault.settings.limits(), try await vault.settings.keyPolicy(),
                try await vault.settings.network(),
                try await vault.settings.downloads(), try await vault.settings.programs(),
                try await vault.settings.ownMode())
            return caller.isControl ? settings : settings.withoutPrograms
        }

        /// Changes the vault's settings, and returns the new ones.
        package static let changeSettings = Operation<SettingsChange, SettingsDocument>(
            .patch, "settings", scope: .admin
        ) {
            change, vault, caller in
            // A token must not let a client run programs as the service's user.
            guard caller.isControl || !change.changesPrograms else {
                throw VaultError(
                    .invalidArgument,
                    "notifyCommand and refreshCommand can be set only through the control socket, on the service's "
                        + "machine")
            }
            try change.limits.check()
            try await change.requireTrustedPrograms()
            let mode = try change.mode.map { try NamedMode($0) }
            // All settings are changed together, so that either all changes take effect or none does.
            let limits: @Sendable (inout StorageLimits) throws -> Void = { $0 = change.limits.applied(to: $0) }
            let policy: @Sendable (() throws -> KeyPolicy) throws -> KeyPolicy = { try change.applied(to: try $0()) }
            let downloads: @Sendable (inout DownloadSettings) throws -> Void = { try change.apply(to: &$0) }
            let programs: @Sendable (inout ProgramSettings) throws -> Void = { try change.apply(to: &$0) }
            let network: @Sendable (() throws -> NetworkSettings) throws -> NetworkSettings = {
                let network: NetworkSettings
                do {
                    network = try change.applied(to: try $0())
                } catch let error as VaultError where error.code == .integrity && change.proxy != nil {
                    // If the settings are unreadable, a change of the proxy starts from the defaults. Otherwise, they
                    // would stay unreadable forever.
                    network = try change.applied(to: NetworkSettings())
                }
                if change.clientCertificate != nil { try network.clientCertificates.requireMatchingKeys() }
                return network
            }
            try await vault.settings.change(
                limits: change.limits.namesAny ? limits : nil, policy: change.changesPolicy ? policy : nil,
                network: change.changesNetwork ? network : nil,
                downloads: change.changesDownloads ? downloads : nil,
                programs: change.changesPrograms ? programs : nil,
                mode: mode.map { .some($0.mode) } ?? .none)
            return try await settings(of: vault, for: caller)
        }

        /// Evicts bytes once, so as to meet the given limits, or the vault's own limits if none are given.
        package static let prune = Operation<LimitsDocument, PruneReport>(.post, "prunes", scope: .admin) {
            limits, vault, _ in
            try limits.check()
            var wanted = limits.namesAny ? limits.applied() : nil
            // In a one-time prune, limits that are not given do not apply. A given `minFree` of `default` is resolved
            // here.
            if limits.minFree == .standard { wanted?.minFree = try await vault.space.standardFree() }
            return try await vault.space.prune(wanted, isDryRun: limits.dryRun ?? false)
        }

        /// Returns what the limits would evict next.
        package static let evictions = Operation<EvictionSelection, EvictionsDocument>(.get, "evictions", scope: .read)
        {
            selection, vault, _ in
            EvictionsDocument(try await vault.space.forecast(limit: selection.limit ?? 20))
        }

        /// Opens every block, or those of a sample of segments, and repairs damage if the options request it.
        package static let verify = LongOperation<VerificationRequest, VerifyProgress, VerifyReport>(
            .post, "verifications", scope: .admin
        ) { order, vault, _ in
            try order.options.check(isOwner: true)
            let references = try await order.references(in: vault)
            return { tell in try await report(of: vault.checks.verify(order.options, of: references), \.report, tell) }
        }

        /// Revokes all playback links and tokens that have been created so far.
        package static let revokeLinks = Operation<EmptyDocument, EmptyDocument>(.post, "revocations", scope: .admin) {
            _, vault, _ in
            try await vault.keys.revokeLinks()
            return EmptyDocument()
        }
    }
}

/// The query of `GET /api/v1/readiness`.
package struct ReadinessSelection: Codable, Sendable {
    /// The titles that must be ready.
    enum Titles: String, Codable, CaseIterable { case pinned, downloaded }

    let until: Timestamp?
    let verifiedWithin: Int64?
    let titles: Titles?
    /// The id of the collection whose titles must be ready; nil to check those that ``titles`` names.
    let collection: String?

    package init(_ options: ReadinessOptions, collection: String? = nil) {
        self.collection = collection
        (until, verifiedWithin) = (options.until, options.verifiedWithin)
        titles = options.hasDownloads ? .downloaded : nil
    }

    var options: ReadinessOptions {
        ReadinessOptions(
            until: until, verifiedWithin: verifiedWithin ?? ReadinessOptions.standardAge,
            hasDownloads: titles == .downloaded)
    }
}

/// The query of `GET /api/v1/evictions`.
package struct EvictionSelection: Codable, Sendable {
    /// The maximum number of titles.
    let limit: Int?
}
