/// A download was begun that goes on without whoever asked for it.
package struct DownloadBegun: Codable, Hashable, Sendable {
    package let id: Int
}
