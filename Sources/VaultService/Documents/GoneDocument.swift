/// A resource is no longer there: the event `removed`.
package struct GoneDocument: Codable, Hashable, Sendable {
    package let id: String
}
