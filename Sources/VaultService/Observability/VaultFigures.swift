import MediaVault
import VaultModel

/// A snapshot of a vault's state, from which its metrics are built.
struct VaultFigures: Sendable {
    let status: VaultStatus
    let work: VaultWork
    /// Whether the store accepts bytes. This is always false if the service only reads the vault.
    let isStoring: Bool
    /// The free space and size of the vault's disk; nil if the file system does not report them.
    let disk: DiskSpace?
    /// The age of the current key generation in seconds.
    let generationAge: Int64?
    /// When the whole vault was last verified, in seconds since 1970, and whether it was sound; nil if it was never
    /// verified.
    let verification: (time: Int64, isSound: Bool)?

    /// - Parameter now: the current time in seconds since 1970.
    /// - Throws: ``VaultError`` if the index cannot be read or the vault is closed.
    init(of vault: Vault, now: Int64) async throws {
        status = try await vault.status()
        isStoring = vault.isOwner && status.storeFailure == nil
        work = vault.work
        disk = await vault.space.diskSpace()
        generationAge = vault.keys.currentGenerationCreated.map { max(0, now - $0) }
        verification = await vault.checks.lastVerification()
    }

    var families: [MetricFamily] {
        let limits = status.limits
        return [
            Self.counter("mediavault_fetched_bytes_total", work.fetched),
            Self.counter("mediavault_opened_bytes_total", work.opened),
            Self.counter("mediavault_sealed_bytes_total", work.sealed),
            Self.counter("mediavault_evicted_bytes_total", status.evicted),
            Self.counter("mediavault_unstored_bytes_total", status.passedThrough),
            Self.counter("mediavault_damage_total", work.damaged),
            originErrors,
            downloads,
            Self.gauge("mediavault_feeds_failing", Int64(status.feeds.failing)),
            Self.gauge("mediavault_held_bytes", status.bytes),
            Self.gauge("mediavault_used_bytes", status.used),
            Self.gauge("mediavault_resources", Int64(status.resources)),
            Self.gauge("mediavault_segments", Int64(status.segments)),
            Self.gauge("mediavault_store_refuses", isStoring ? 0 : 1),
            Self.gauge("mediavault_disk_free_bytes", disk?.free),
            Self.gauge("mediavault_disk_size_bytes", disk?.size),
            Self.gauge("mediavault_max_size_bytes", limits.size),
            Self.gauge("mediavault_max_age_seconds", limits.age),
            Self.gauge("mediavault_min_free_bytes", limits.free),
            Self.gauge("mediavault_key_generation", Int64(status.generation)),
            Self.gauge("mediavault_key_generation_age_seconds", generationAge),
            Self.gauge("mediavault_last_verify_timestamp_seconds", verification?.time),
            Self.gauge("mediavault_last_verify_sound", verification.map { $0.isSound ? 1 : 0 }),
            Self.ready(true),
        ].compactMap(\.self)
    }

    private var originErrors: MetricFamily {
        MetricFamily(
            name: "mediavault_origin_errors_total", kind: .counter,
            samples: OriginErrors.Kind.allCases.map { kind in
                let label = MetricFamily.Label("kind", kind.rawValue)
                return MetricFamily.Sample(labels: [label], value: Double(work.originErrors[kind] ?? 0))
            })
    }

    private var downloads: MetricFamily {
        let counts = status.downloads
        let states: [(String, Int)] = [
            ("damaged", counts.damaged), ("failed", counts.failed), ("paused", counts.paused),
            ("running", counts.running), ("waiting", counts.waiting),
        ]
        return MetricFamily(
            name: "mediavault_downloads", kind: .gauge,
            samples: states.map { state, count in
                let label = MetricFamily.Label("state", state)
                return MetricFamily.Sample(labels: [label], value: Double(count))
            })
    }

    /// Returns the metric that states whether the vault can be read.
    static func ready(_ isReady: Bool) -> MetricFamily {
        MetricFamily(
            name: "mediavault_ready", kind: .gauge, samples: [MetricFamily.Sample(value: isReady ? 1 : 0)])
    }

    private static func counter(_ name: String, _ value: Int64) -> MetricFamily {
        MetricFamily(name: name, kind: .counter, samples: [MetricFamily.Sample(value: Double(value))])
    }

    /// - Returns: nil if there is no value.
    private static func gauge(_ name: String, _ value: Int64?) -> MetricFamily? {
        value.map { MetricFamily(name: name, kind: .gauge, samples: [MetricFamily.Sample(value: Double($0))]) }
    }
}
