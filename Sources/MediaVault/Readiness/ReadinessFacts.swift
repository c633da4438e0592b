import VaultModel

/// The facts about one title that determine whether it is ready.
struct TitleFacts: Hashable, Sendable {
    /// How much of the title is held.
    enum Holding: Hashable, Sendable {
        case whole
        /// Bytes of the title are missing.
        ///
        /// - Parameters:
        ///   - count: the number of missing bytes; nil if unknown.
        ///   - isLoss: whether the missing bytes were once held.
        case partial(count: Int64?, isLoss: Bool)
        /// The title is a manifest that was played, but not fetched as a title, so its parts are unknown.
        case onlyPlayed
    }

    /// The result of opening the title's segments.
    struct Opening: Hashable, Sendable {
        /// The number of parts that were fetched but are not held whole, regardless of what the title's record says.
        var brokenParts = 0
        /// The number of files that are missing or cut short.
        var missingFiles = 0
        /// The number of blocks, rows and files that no key opened.
        var unopened = 0
        /// The number of files that the operating system failed to read.
        var unreadable = 0
    }

    var id: TitleID?
    var name: String?
    /// The title's URL without its query; nil if the title's rows do not open.
    var url: String?
    var bytes: Int64 = 0
    var holding = Holding.whole
    var opening = Opening()
    /// The state of the title's entry in the download queue; nil if it has none.
    var queued: DownloadSnapshot.State?
    /// Whether the limits in force allow the title to be evicted.
    var isEvictable = false

    /// The findings about the title, the most important first.
    var findings: [ReadinessFinding] {
        [heldFinding, partsFinding, filesFinding, keyFinding, readFinding, queueFinding, limitFinding].compactMap(
            \.self)
    }

    private var heldFinding: ReadinessFinding? {
        switch holding {
        case .whole: nil
        case .partial(let count, let isLoss):
            ReadinessFinding(
                isLoss ? .damaged : .incomplete,
                (count.map { Quantity.readable(bytes: $0) } ?? "a part of it")
                    + (isLoss ? " was lost after it was stored; repair the vault" : " is missing; fetch the rest"))
        case .onlyPlayed:
            ReadinessFinding(.incomplete, "it was played, but never fetched as a title; fetch it")
        }
    }

    private var partsFinding: ReadinessFinding? {
        guard holding == .whole, opening.brokenParts > 0 else { return nil }
        let count = opening.brokenParts
        return ReadinessFinding(
            .incomplete, (count == 1 ? "1 part is" : "\(count) parts are") + " not there to the end; fetch the rest")
    }

    private var filesFinding: ReadinessFinding? {
        guard opening.missingFiles > 0 else { return nil }
        return ReadinessFinding(
            .damaged, "\(Self.files(opening.missingFiles)) gone from the disk, or cut short; repair the vault")
    }

    private var keyFinding: ReadinessFinding? {
        guard opening.unopened > 0 else { return nil }
        return ReadinessFinding(
            .unopened,
            "some of it does not open with the keys of this vault; restore the keyring, or repair the vault")
    }

    private var readFinding: ReadinessFinding? {
        guard opening.unreadable > 0 else { return nil }
        return ReadinessFinding(.unreadable, "\(Self.files(opening.unreadable)) unreadable; check the disk")
    }

    private var queueFinding: ReadinessFinding? {
        switch queued {
        case .waiting: ReadinessFinding(.queued, "its download waits in the queue; let the queue run")
        case .running: ReadinessFinding(.queued, "it is being downloaded; wait until that is done")
        case .paused: ReadinessFinding(.queued, "its download is paused; resume it")
        case .failed: ReadinessFinding(.queued, "its download failed; retry or cancel it")
        case .done, .ended, nil: nil
        }
    }

    private var limitFinding: ReadinessFinding? {
        guard isEvictable else { return nil }
        return ReadinessFinding(.evictable, "the limit on the vault's size may evict it; pin it")
    }

    private static func files(_ count: Int) -> String { count == 1 ? "1 file is" : "\(count) files are" }
}

/// The facts about a whole vault that determine whether it is ready.
struct WholeFacts: Hashable, Sendable {
    /// The result of the last verification of the whole vault.
    struct Verification: Hashable, Sendable {
        /// When the verification ended, in seconds since 1970.
        var time: Int64
        /// Whether the verification left no damage.
        var isSound: Bool
    }

    /// The last verification of the whole vault; nil if there was none.
    var verification: Verification?
    /// The number of free bytes on the vault's disk; nil if unknown.
    var freeBytes: Int64?
    /// The number of bytes that the limits in force keep free on the disk.
    var minFree: Int64 = 0
    /// The key operation that is running or was interrupted; nil if there is none.
    var keyOperation: Receipt.Act?
    /// The tokens and named links that players use.
    var access: [AccessGrant] = []

    /// Returns the findings about the vault as a whole.
    ///
    /// - Parameter now: the current time, in seconds since 1970.
    func findings(_ options: ReadinessOptions, now: Int64) -> [ReadinessFinding] {
        [verificationFinding(options, now), diskFinding, keyFinding].compactMap(\.self)
            + (options.until.map { accessFindings(until: $0, now) } ?? [])
    }

    private func verificationFinding(_ options: ReadinessOptions, _ now: Int64) -> ReadinessFinding? {
        guard let verification else {
            return ReadinessFinding(.unverified, "the vault was never verified; verify it")
        }
        guard verification.isSound else {
            return ReadinessFinding(
                .damageLeft, "the verification of \(Self.day(verification.time)) left damage; repair the vault")
        }
        // A time in the future means that the clock was wrong then, or is wrong now.
        let (age, isFar) = now.subtractingReportingOverflow(verification.time)
        guard !isFar, (-Self.clockTolerance...options.verifiedWithin).contains(age) else {
            return ReadinessFinding(
                .unverified, "the vault was last verified on \(Self.day(verification.time)); verify it again")
        }
        return nil
    }

    private var diskFinding: ReadinessFinding? {
        guard let freeBytes, freeBytes < minFree else { return nil }
        let (free, least) = (Quantity.readable(bytes: freeBytes), Quantity.readable(bytes: minFree))
        return ReadinessFinding(
            .diskFull, "\(free) of the disk are free, and the limits leave \(least) free; free some space")
    }

    private var keyFinding: ReadinessFinding? {
        guard let keyOperation else { return nil }
        return ReadinessFinding(
            .keyOperation,
            "the key operation \"\(keyOperation.rawValue)\" is not finished; let it finish, or start it again")
    }

    private func accessFindings(until: Timestamp, _ now: Int64) -> [ReadinessFinding] {
        access.filter { $0.isCurrent(at: now) && !$0.isCurrent(at: until.seconds) }.map { grant in
            let name = grant.name ?? grant.shortID
            let what =
                grant.kind.family == .tokens ? "the token \"\(name)\" ends" : "the playback links \"\(name)\" end"
            let time = Timestamp(seconds: grant.expires ?? 0)
            let remedy =
                grant.kind.family == .tokens ? "create a token that lasts longer" : "create links that last longer"
            return ReadinessFinding(.accessEnds, "\(what) at \(time), before the day that you named; \(remedy)")
        }
    }

    /// How many seconds a clock may be set back without casting doubt on the verification.
    private static let clockTolerance: Int64 = 60

    private static func day(_ time: Int64) -> String {
        String(Timestamp(seconds: time).description.prefix { $0 != "T" })
    }
}

extension AccessGrant {
    /// Whether the grant is meant for players.
    var isForPlayers: Bool {
        switch kind {
        case .links: true
        case .token(let scope): scope >= .play
        case .session: false
        }
    }
}

/// Collects the facts about titles, and decides whether they are ready. It is a value type without I/O.
struct ReadinessTally: Sendable {
    private var titles = 0
    private var bytes: Int64 = 0
    private var unready: [UnreadyTitle] = []
    private var unreadyTitles = 0

    /// Adds the facts about a title that should be ready.
    mutating func add(_ title: TitleFacts) {
        titles += 1
        bytes += title.bytes
        let findings = title.findings
        guard !findings.isEmpty else { return }
        unreadyTitles += 1
        guard unready.count < ReadinessReport.maxNamed else { return }
        unready.append(UnreadyTitle(id: title.id, name: title.name, url: title.url, findings: findings))
    }

    /// Returns the report on the titles added so far and on the vault as a whole.
    ///
    /// - Parameter now: the current time, in seconds since 1970.
    func report(_ whole: WholeFacts, _ options: ReadinessOptions, now: Int64) -> ReadinessReport {
        var findings = whole.findings(options, now: now)
        if titles == 0 {
            let nothing = options.hasDownloads ? "no title is downloaded or pinned" : "no title is pinned"
            let none = options.titles.map { _ in "the vault has none of the titles" }
            findings.insert(ReadinessFinding(.nothingChecked, "\(none ?? nothing); fetch one, and pin it"), at: 0)
        }
        return ReadinessReport(
            isReady: findings.isEmpty && unreadyTitles == 0, checked: Timestamp(seconds: now), until: options.until,
            titles: titles, bytes: bytes, findings: findings, unready: unready, unreadyTitles: unreadyTitles)
    }
}
