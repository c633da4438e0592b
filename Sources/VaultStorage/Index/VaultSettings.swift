package import VaultModel

/// The settings and counters of a vault, sealed in `vault.settings`, and the network settings, which have a row of
/// their own.
package struct VaultSettings: Sendable {
    /// The number of media bytes that origins have sent since the vault was created.
    package var bytesFetched: Int64
    /// The limits on the space that the vault may use.
    package var limits: StorageLimits
    /// All members, including those that this version does not know.
    var members: JSONObject
    /// The members that determine how origins are reached.
    var network: NetworkMembers

    package init() {
        network = NetworkMembers(JSONObject())
        bytesFetched = 0
        limits = StorageLimits()
        members = JSONObject()
    }

    init?(_ object: JSONObject) {
        do {
            bytesFetched = try object.optionalInteger("bytesFetched") ?? 0
            limits = StorageLimits(
                maxSize: try object.optionalInteger("maxSize"), maxAge: try object.optionalInteger("maxAge"),
                minFree: try object.optionalInteger("minFree"),
                evictsDownloads: object["evictDownloads"] == nil ? nil : try object.bool("evictDownloads"))
            _ = try object.optionalString("mode")
        } catch {
            return nil
        }
        members = object
        // An older version keeps the network members among the settings.
        network = NetworkMembers(JSONObject(object.members.filter { NetworkMembers.names.contains($0.key) }))
    }

    var object: JSONObject {
        var object = members
        object["bytesFetched"] = .integer(bytesFetched)
        for (name, value) in [("maxSize", limits.size), ("maxAge", limits.age)] {
            object[name] = (value ?? 0) > 0 ? value.map { .integer($0) } : nil
        }
        // With 0, no space is left free. Without the member, the default share of the disk is left free.
        object["minFree"] = limits.minFree.map { .integer(max(0, $0)) }
        object["evictDownloads"] = limits.evictsDownloads.map { .bool($0) }
        return object
    }
}

extension VaultSettings {
    /// The vault's mode; nil if none was set, or if this version does not know the mode.
    package var mode: VaultMode? {
        get { (try? members.optionalString("mode"))?.flatMap { VaultMode(rawValue: $0) } }
        set { members["mode"] = newValue.map { .string($0.rawValue) } }
    }
}

// The settings that determine how resources are named.
extension VaultSettings {
    /// Returns the key policy.
    ///
    /// - Throws: ``VaultError`` with code `integrity` if the members are not a valid policy.
    package func keyPolicy() throws -> KeyPolicy {
        do {
            var policy = KeyPolicy()
            for rule in try members.optionalObjects("ignoreQuery") {
                try policy.ignore(try rule.strings("names"), on: try rule.optionalString("host"))
            }
            for rule in try members.optionalObjects("mapHost") {
                try policy.map(try rule.string("from"), to: try rule.string("to"))
            }
            for host in try members.strings("allowHost") { try policy.allow(host) }
            for host in try members.strings("ignoreEtag") { try policy.ignoreEntityTag(of: host) }
            for host in try members.strings("immutable") { try policy.setImmutable(host) }
            return policy
        } catch {
            throw VaultError(.integrity, "the vault's key policy cannot be read; set it again")
        }
    }

    package mutating func setKeyPolicy(_ policy: KeyPolicy) {
        members["ignoreQuery"] = .array(
            policy.ignoreQuery.map { rule in
                var members: [String: JSONValue] = ["names": .array(rule.names.map { .string($0) })]
                if let host = rule.host { members["host"] = .string(host) }
                return .object(members)
            })
        members["mapHost"] = .array(
            policy.mapHost.sorted { $0.key < $1.key }.map {
                .object(["from": .string($0.key), "to": .string($0.value)])
            })
        let lists = [
            "allowHost": policy.allowHost, "ignoreEtag": policy.ignoreEntityTag, "immutable": policy.immutable,
        ]
        for (name, hosts) in lists { members[name] = .array(hosts.sorted().map { .string($0) }) }
    }

    /// The maximum number of principals that are remembered.
    package static let maxPrincipals = 256

    /// The principals for which resources were stored, as they appear in cache keys. Invalid entries are skipped.
    package var principals: [[UInt8]] {
        ((try? members.strings("principals")) ?? []).compactMap { Base64.decode($0) }.filter { $0.count == 32 }
    }

    /// Replaces remembered principals with their new names. A principal that is not in `principals` keeps its name.
    mutating func rename(principals: [[UInt8]: [UInt8]]) {
        guard !self.principals.isEmpty else { return }
        members["principals"] = .array(self.principals.map { .string(Base64.encode(principals[$0] ?? $0)) })
    }

    /// Remembers a principal.
    ///
    /// If there is one entry more than ``maxPrincipals``, there may be further principals that are not remembered.
    package mutating func note(principal: [UInt8]) {
        var known = principals
        guard !known.contains(principal), known.count <= Self.maxPrincipals else { return }
        known.append(principal)
        members["principals"] = .array(known.map { .string(Base64.encode($0)) })
    }
}

// What applies to the titles of collections.
extension VaultSettings {
    /// The rules of collections. An entry that cannot be read counts as absent.
    package var collectionRules: [CollectionMark: CollectionRule] {
        get {
            let entries = (try? members.optionalObjects("collections")) ?? []
            let rules = entries.prefix(CollectionRule.maxCount).compactMap {
                entry -> (CollectionMark, CollectionRule)? in
                guard let mark = (try? entry.base64("mark")).flatMap({ CollectionMark(bytes: $0) }),
                    let isPinned = try? entry.bool("pinned")
                else { return nil }
                let mode: VaultMode? =
                    if case .string(let name)? = entry["mode"] { VaultMode(rawValue: name) } else { nil }
                return (mark, CollectionRule(isPinned: isPinned, mode: mode))
            }
            return Dictionary(rules) { first, _ in first }
        }
        set {
            let entries = newValue.filter { !$0.value.isEmpty }.map { mark, rule -> (String, JSONValue) in
                let text = Base64.encode(mark.bytes)
                var entry: [String: JSONValue] = ["mark": .string(text), "pinned": .bool(rule.isPinned)]
                entry["mode"] = rule.mode.map { .string($0.rawValue) }
                return (text, .object(entry))
            }
            members["collections"] = entries.isEmpty ? nil : .array(entries.sorted { $0.0 < $1.0 }.map(\.1))
        }
    }
}

// The last verification of the whole vault.
extension VaultSettings {
    /// When the whole vault was last verified, and what the result was; nil if it never was.
    package var verification: VerificationRecord? {
        get {
            guard let record = members["verified"].flatMap({ try? JSONObject($0, name: "verified") }),
                let time = try? record.integer("time"), let isSound = try? record.bool("sound")
            else { return nil }
            return VerificationRecord(time: time, isSound: isSound)
        }
        set {
            members["verified"] = newValue.map { .object(["time": .integer($0.time), "sound": .bool($0.isSound)]) }
        }
    }
}

/// A completed verification of the whole vault.
package struct VerificationRecord: Hashable, Sendable {
    /// When the verification ended, in seconds since 1970.
    package let time: Int64
    /// Whether no damage was left when the verification ended.
    package let isSound: Bool
}

// The progress of a reseal, and of the vault's destruction.
extension VaultSettings {
    /// The reseal that was begun but is not finished; nil if there is none.
    package var resealOrder: ResealOrder? {
        get { members["reseal"].flatMap { try? JSONObject($0, name: "reseal") }.flatMap { ResealOrder($0) } }
        set { members["reseal"] = newValue.map { .object($0.object.members) } }
    }

    /// The number of the last reseal; 0 if there was none.
    package var lastResealRun: Int64 {
        get {
            guard case .integer(let run)? = members["resealRun"] else { return 0 }
            return run
        }
        set { members["resealRun"] = .integer(newValue) }
    }

    /// The number of resources deleted by attempts to destroy the vault; 0 if there was no attempt.
    var destroyedResources: Int64 {
        get { (try? members.optionalInteger("destroyed")) ?? 0 }
        set { members["destroyed"] = .integer(newValue) }
    }
}

// The settings for processing the download queue.
extension VaultSettings {
    /// The settings for processing the queue. An invalid member counts as absent, so that a new vault's value applies.
    package var downloads: DownloadSettings {
        var downloads = DownloadSettings()
        if case .integer(let count)? = members["parallelDownloads"] { try? downloads.setParallel(Int(count)) }
        if case .integer(let count)? = members["downloadsPerHost"] { try? downloads.setPerHost(Int(count)) }
        if case .string(let hours)? = members["downloadHours"] { downloads.hours = try? DownloadHours(hours) }
        if case .integer(let rate)? = members["downloadRate"] { try? downloads.setRate(rate) }
        if case .integer(let rate)? = members["leastRate"] { try? downloads.setLeastRate(rate) }
        try? downloads.setLanguages(members.strings("languages"))
        return downloads
    }

    /// Replaces the settings for processing the queue. A value that equals a new vault's is stored without a member.
    package mutating func setDownloads(_ downloads: DownloadSettings) {
        let usual = DownloadSettings()
        members["parallelDownloads"] =
            downloads.parallel == usual.parallel ? nil : .integer(Int64(downloads.parallel))
        members["downloadsPerHost"] = downloads.perHost == usual.perHost ? nil : .integer(Int64(downloads.perHost))
        members["downloadHours"] = downloads.hours.map { .string($0.description) }
        members["downloadRate"] = downloads.bytesPerSecond.map { .integer($0) }
        members["leastRate"] = downloads.leastRate == usual.leastRate ? nil : .integer(downloads.leastRate)
        members["languages"] = downloads.languages.isEmpty ? nil : .array(downloads.languages.map { .string($0) })
    }
}

// The programs that the operator chose. Their arguments may be secrets, so only the sealed settings contain them.
extension VaultSettings {
    /// The programs. An invalid member counts as absent, so that nothing is run.
    package var programs: ProgramSettings {
        ProgramSettings(notify: program("notifyCommand"), refresh: program("refreshCommand"))
    }

    /// Replaces the programs.
    package mutating func setPrograms(_ programs: ProgramSettings) {
        for (name, program) in [("notifyCommand", programs.notify), ("refreshCommand", programs.refresh)] {
            members[name] = program.map { .array($0.words.map { .string($0) }) }
        }
    }

    private func program(_ name: String) -> ProgramInvocation? {
        (try? members.strings(name)).flatMap { try? ProgramInvocation($0) }
    }
}
