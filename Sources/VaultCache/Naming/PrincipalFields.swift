package import VaultModel

/// The request header fields of the principals whose manifests are being played, kept only in memory.
///
/// A link in such a manifest carries the principal but no header fields. The vault requests the link's target with the
/// fields of the manifest's own request, and then stores them with the target.
package final class PrincipalFields: Sendable {
    private struct Known {
        let principal: [UInt8]
        let fields: OriginFields
    }

    /// The known fields, with the most recent last.
    private let known = Locked<[Known]>([])

    private static let most = 64

    /// Records the header fields that stand for a principal at their origin.
    package func note(_ fields: OriginFields, of principal: [UInt8]) {
        known.withLock { known in
            known.removeAll { $0.principal == principal && $0.fields.origin == fields.origin }
            known.append(Known(principal: principal, fields: fields))
            if known.count > Self.most { known.removeFirst() }
        }
    }

    /// Returns the reference with its principal's header fields, if it carries a principal whose fields for this origin
    /// are known; otherwise returns it unchanged.
    func completing(_ reference: MediaReference) -> MediaReference {
        guard let principal = reference.principal, reference.fields.fields.isEmpty else { return reference }
        let fields = known.withLock { known in
            known.last { $0.principal == principal && $0.fields.origin == reference.url.origin }?.fields
        }
        var reference = reference
        if let fields { reference.fields = fields.fields }
        return reference
    }

    /// Forgets everything.
    package func removeAll() { known.withLock { $0 = [] } }
}
