import MediaVault
import OriginTestSupport
import VaultFetch

/// What came of reading through a vault, and what lies in it afterwards.
struct Reception: Sendable {
    /// The bytes given before the end, or before the error; all of them right.
    var bytes: ByteRange
    var error: VaultError?
    /// A byte that no version has, or that is another version's than the ones before it.
    var wrongByte: Int64?
}

extension VaultFixture {
    /// Opens the vault with waits that a test can sit out.
    ///
    /// - Parameter hosts: those that redirects may lead to though they are private.
    func openHasty(
        stall: Duration = .seconds(1), patience: Duration = .seconds(2), allowing hosts: Set<String> = []
    ) async throws -> Vault {
        var configuration = CurlConfiguration(
            userAgent: "MediaVault/test", connectTimeout: .seconds(2), stallTimeout: stall)
        configuration.allowsPrivate = { hosts.contains($0) }
        var options = VaultOptions(origin: CurlOrigin(configuration: configuration))
        options.retry.patience = patience
        options.retry.downloadTimeLimit = patience
        options.retry.goneTimeLimit = patience
        // With delays this short an opening that is tried again for seconds would use up the tries of a minute.
        options.retry.openingTimeLimit = .milliseconds(300)
        options.retry.firstDelay = .milliseconds(20)
        options.retry.longestDelay = .milliseconds(100)
        return try await Vault.open(place, unlock: unlock, options: options)
    }

    /// Reads up to the end, or to the error.
    ///
    /// - Parameter versions: what the origin has had; the bytes must be those of one.
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

    /// What a restart finds, byte for byte of one version; nil where something wrong is stored.
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
