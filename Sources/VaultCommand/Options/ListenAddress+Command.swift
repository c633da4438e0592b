import VaultService

extension ListenAddress {
    /// Where the service listens unless it is told otherwise.
    static let standard = ListenAddress(host: "127.0.0.1", port: 8300)

    /// The address meant: option, else environment; nil where neither names one.
    static func named(_ option: String?, in surroundings: Surroundings = .current) throws -> ListenAddress? {
        try (option ?? surroundings["MEDIAVAULT_LISTEN"]).map { try ListenAddress($0) }
    }

    /// What a player on this machine connects to: a wildcard stands for every address, and is none itself.
    var reachable: ListenAddress {
        switch host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
