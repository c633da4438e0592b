/// Some resources, as `/api/v1/resources` tells them.
package struct PageDocument: Codable, Sendable {
    package let resources: [ListedDocument]
    /// How many resources of the page are not told, because their rows fail their tags.
    package let damaged: Int
    /// What `after` is for the next page; `null` at the end.
    package let next: OrNull<String>
}
