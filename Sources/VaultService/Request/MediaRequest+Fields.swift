import HTTPTypes

extension MediaRequest {
    /// Reads a request for media.
    ///
    /// - Parameter now: seconds since 1970.
    init(_ method: Method, _ fields: HTTPFields, now: Int64) {
        self.init(
            method: method, range: fields[values: .range],
            conditions: Conditions(
                ifMatch: fields[values: .ifMatch], ifNoneMatch: fields[values: .ifNoneMatch],
                ifModifiedSince: fields[values: .ifModifiedSince],
                ifUnmodifiedSince: fields[values: .ifUnmodifiedSince], ifRange: fields[values: .ifRange], now: now))
    }
}
