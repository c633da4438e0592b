import VaultModel
import VaultStorage

extension Vault {
    /// Changes several settings together: all of them are written, or none is.
    ///
    /// - Parameters:
    ///   - limits: changes the limits that the settings name.
    ///   - policy: changes which URLs name one resource; what it throws leaves all settings as they were.
    ///   - mode: the mode that the settings are to name; nil leaves it as it is.
    /// - Throws: ``VaultError`` where the settings cannot be written; with code `invalidArgument` as ``setLimits(_:)``;
    ///   `owned` where this is not the owner.
    package func changeSettings(
        limits change: (@Sendable (inout RoomLimits) throws -> Void)? = nil,
        policy changePolicy: (@Sendable (_ old: () throws -> KeyPolicy) throws -> KeyPolicy)? = nil,
        mode: VaultMode?? = nil
    ) async throws {
        try requireOwner(to: "changes its settings")
        let (store, names, ofRun) = (store, names, limitsOfRun)
        try await pool.run { [self] in
            var (limits, policy): (RoomLimits?, KeyPolicy?) = (nil, nil)
            // A limit is judged before the transaction: the index answers to one at a time.
            if let change {
                var wanted = try store.index.settings().limits
                try change(&wanted)
                try Self.check(wanted)
                try store.requireReachable(ofRun?.over(wanted) ?? wanted)
            }
            try store.changeSettings { settings in
                if let change {
                    try change(&settings.limits)
                    limits = settings.limits
                }
                if let changePolicy {
                    let changed = try changePolicy(settings.keyPolicy)
                    settings.setKeyPolicy(changed)
                    policy = changed
                }
                if let mode { settings.mode = mode?.rawValue }
            }
            if let policy { names.use(policy) }
            if let limits { try keep(to: limits) }
        }
        if let mode { await use(mode) }
    }
}
