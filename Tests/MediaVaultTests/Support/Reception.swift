import MediaVault
import OriginTestSupport
import VaultFetch

/// The result of reading through a vault.
struct Reception: Sendable {
    /// The bytes served before the end or the error, all of them right.
    var bytes: ByteRange
    var error: VaultError?
    /// A byte that occurs in no version, or in a different version from the bytes before it.
    var wrongByte: Int64?
}

extension VaultFixture {
    /// Opens the vault with delays between retries short enough for a test.
    ///
    /// The time limits are long, because a busy machine must not reach them. A test that waits for the end of one sets
    /// it.
    ///
    /// - Parameters:
    ///   - stall: How long the origin may be silent.
    ///   - patience: How long a reader or a download waits for a missing byte.
    ///   - hosts: Private hosts to which redirects may lead.
    ///   - change: Sets other limits.
    func openHasty(
        stall: Duration = .seconds(30), patience: Duration = .seconds(60), allowing hosts: Set<String> = [],
        _ change: (inout RetryPolicy) -> Void = { _ in }
    ) async throws -> Vault {
        var configuration = CurlConfiguration(
            userAgent: "MediaVault/test", connectTimeout: .seconds(30), stallTimeout: stall)
        configuration.allowsPrivate = { hosts.contains($0) }
        var options = VaultOptions(origin: CurlOrigin(configuration: configuration))
        options.retry = .unhurried
        options.retry.patience = patience
        options.retry.downloadTimeLimit = patience
        options.retry.goneTimeLimit = patience
        // With delays this short, retrying an opening for seconds would use up the retries of a minute.
        options.retry.openingTimeLimit = .milliseconds(300)
        options.retry.firstDelay = .milliseconds(20)
        options.retry.longestDelay = .milliseconds(100)
        change(&options.retry)
        return try await Vault.open(place, unlock: unlock, options: options)
    }

    /// Reads to the end or to the first error.
    ///
    /// - Parameter versions: The versions that the origin had; the bytes must all be from one.
    func receive(
        _ vault: Vault, _ range: RequestedRange = .whole, versions: [PseudoRandomMedia]? = nil, of url: MediaURL? = nil
    ) async -> Reception {
        var reception = Reception(bytes: 0..<0)
        var versions = versions ?? [media]
        do {
            let reader = try await vault.read(url ?? self.url, range: range)
            let first = reader.range?.lowerBound ?? 0
            reception.bytes = first..<first
            while let bytes = try await reader.next() {
                versions = versions.filter { $0.matches(bytes, at: reception.bytes.upperBound) }
                if versions.isEmpty {
                    reception.wrongByte = reception.bytes.upperBound
                    return reception
                }
                reception.bytes = first..<(reception.bytes.upperBound + Int64(bytes.count))
            }
        } catch let error as VaultError {
            reception.error = error
        } catch {
            reception.wrongByte = -1
        }
        return reception
    }

    /// Returns the ranges held after a restart, all bytes from one version; nil if a wrong byte is stored.
    func stored(versions: [PseudoRandomMedia]? = nil) async throws -> [ByteRange]? {
        let vault = try await open(.reader)
        let held = try await held(vault)
        var versions = versions ?? [media]
        for range in held {
            var position = range.lowerBound
            for try await bytes in try await vault.read(
                url, range: .closed(first: range.lowerBound, last: range.upperBound - 1))
            {
                versions = versions.filter { $0.matches(bytes, at: position) }
                position += Int64(bytes.count)
            }
            if versions.isEmpty || position != range.upperBound {
                await vault.close()
                return nil
            }
        }
        await vault.close()
        return held
    }
}
