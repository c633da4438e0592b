package import VaultModel

/// A recently removed title: links that were created before its removal fetch nothing of it.
///
/// It contains only keyed hashes, so it reveals no more of a shredded title than the title's receipt does.
package struct RemovedTitle: Hashable, Sendable {
    /// The title's id.
    package let title: TitleID
    /// The first eight bytes of the ids of its resource, which comes first, and of the parts that were removed with it.
    package let ids: [UInt64]
    /// Until when links fetch nothing of it, in seconds since 1970.
    package let end: Int64

    package init(title: TitleID, ids: [UInt64], end: Int64) { (self.title, self.ids, self.end) = (title, ids, end) }

    /// Returns the number that stands for a resource in ``ids``.
    package static func mark(of id: ResourceID) -> UInt64 { id.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

// The recently removed titles.
extension VaultSettings {
    /// Maximum titles, and maximum ids of one, since the settings are sealed again with each segment's commit.
    private static let (maxRemovals, maxRemovedIDs) = (32, 1024)
    private static let bytesOfID = 8

    /// The most recently removed titles; an invalid member counts as absent.
    package var removals: [RemovedTitle] {
        get {
            ((try? members.optionalObjects("removals")) ?? []).compactMap { member in
                guard let title = (try? member.string("title")).flatMap({ TitleID($0) }),
                    let end = try? member.integer("end"),
                    let bytes = (try? member.string("ids")).flatMap({ Base64.decode($0) }),
                    !bytes.isEmpty, bytes.count.isMultiple(of: Self.bytesOfID)
                else { return nil }
                let ids = stride(from: 0, to: bytes.count, by: Self.bytesOfID).map { start in
                    bytes[start..<start + Self.bytesOfID].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                }
                return RemovedTitle(title: title, ids: ids, end: end)
            }
        }
        set {
            let kept = newValue.suffix(Self.maxRemovals)
            members["removals"] =
                kept.isEmpty
                ? nil
                : .array(
                    kept.map { removed in
                        let bytes = removed.ids.prefix(Self.maxRemovedIDs).flatMap { id in
                            (0..<Self.bytesOfID).reversed().map { UInt8(truncatingIfNeeded: id >> (8 * UInt64($0))) }
                        }
                        return .object([
                            "title": .string(removed.title.description), "end": .integer(removed.end),
                            "ids": .string(Base64.encode(bytes)),
                        ])
                    })
        }
    }
}
