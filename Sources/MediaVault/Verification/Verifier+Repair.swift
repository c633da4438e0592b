import VaultModel
import VaultStorage

extension Verifier {
    /// Fetches what is missing anew, where that is wanted, and enters what was found.
    mutating func settle(
        _ ledger: RepresentationLedger, of representation: RepresentationID, _ resource: StoredResource
    ) async throws {
        let gaps = ledger.gaps
        let problem = try await options.repairs ? mend(gaps, of: representation, resource) : nil
        let isMended = options.repairs && problem == nil
        for (damageClass, count) in ledger.mended { report.note(damageClass, count, isMended: true) }
        for (damageClass, count) in ledger.pending { report.note(damageClass, count, isMended: isMended) }
        report.name(
            DamagedResource(
                id: resource.id.hex, url: Self.name(of: resource),
                damage: ledger.mended.merging(ledger.pending, uniquingKeysWith: +), ranges: Array(gaps.ranges),
                isRepaired: isMended || (options.repairs && ledger.pending.isEmpty), problem: problem))
    }

    /// The URL without its query: that may be a token.
    private static func name(of resource: StoredResource) -> String? {
        (try? MediaURL(resource.metadata.url))?.description
    }

    /// Why the ranges could not be fetched anew; nil where they were.
    private mutating func mend(
        _ gaps: ByteRanges, of representation: RepresentationID, _ resource: StoredResource
    ) async throws -> String? {
        // What no longer serves, nobody reads: that it is gone is enough.
        guard !gaps.isEmpty, representation == resource.serving?.id else { return nil }
        do {
            let authority = try MediaURL(resource.metadata.url).authority
            guard !unreachable.contains(authority) else {
                return "\(authority) gives no answer; verify again with --repair when it does"
            }
            do {
                report.bytesRefetched += try await vault.mend(gaps, of: representation, resource)
                return nil
            } catch let error as VaultError where error.code == .unreachable {
                unreachable.insert(authority)
                throw error
            }
        } catch let error as VaultError {
            try Task.checkCancellation()
            return error.message
        }
    }
}
