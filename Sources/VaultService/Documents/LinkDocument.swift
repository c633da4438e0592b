/// Where a player finds a resource on the service, and until when.
package struct LinkDocument: Codable, Hashable, Sendable {
    /// Path and query: what stands before is the service's own address.
    package let path: String
    /// Seconds since 1970.
    package let expires: Int64
}
