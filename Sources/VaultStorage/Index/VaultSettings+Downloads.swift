package import VaultModel

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
    }
}
