import HTTPTypes

extension HTTPField.Name {
    /// By which a client can name a request to whoever has the log; the name is one that HTTP allows.
    static let requestID = HTTPField.Name("X-Request-Id") ?? .server
}
