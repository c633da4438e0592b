/// The viewers that a title is shared with.
package struct TitleShare: Hashable, Sendable {
    /// The title, identified by an id that never changes.
    package let title: TitleID
    package var viewers: Set<ViewerID>

    package init(title: TitleID, viewers: Set<ViewerID>) { (self.title, self.viewers) = (title, viewers) }

    /// Creates a share from its record; nil if the record is malformed.
    package init?(_ record: JSONObject) {
        guard let title = (try? record.string("title")).flatMap({ TitleID($0) }),
            let names = try? record.strings("viewers"), names.count <= Viewer.maxCount
        else { return nil }
        let viewers = names.compactMap { ViewerID(hex: $0) }
        guard viewers.count == names.count else { return nil }
        self.init(title: title, viewers: Set(viewers))
    }

    /// The members of the share's record.
    package var record: JSONObject {
        JSONObject([
            "title": .string(title.description), "viewers": .array(viewers.map(\.hex).sorted().map { .string($0) }),
        ])
    }
}
