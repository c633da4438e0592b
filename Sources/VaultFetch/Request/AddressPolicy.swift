import VaultModel

/// Which addresses one hop of a request may be sent to. It is asked with the address of the connection, so that it does
/// not matter what a host is called, how a number is spelled, or what a name server says the second time.
struct AddressPolicy: Sendable {
    private let allowsPrivate: Bool
    private let ownListeners: OwnListeners

    /// - Parameters:
    ///   - reach: what the request, or the redirect, may reach.
    ///   - host: the host of the hop's URL, which the operator may have allowed by name.
    init(reach: NetworkReach, host: String, _ configuration: CurlConfiguration) {
        allowsPrivate = reach == .anywhere || configuration.allowsPrivate(host)
        ownListeners = configuration.ownListeners
    }

    /// Why an address is refused; nil where it is not.
    func refusal(of address: NetworkAddress, port: Int) -> OriginFailure? {
        if ownListeners.contain(address, port: port) { return Self.isOwn }
        return allowsPrivate || address.isPublic ? nil : Self.isPrivate
    }

    static let isPrivate = OriginFailure(
        .lied, "it leads to a private address, and the setting allow-host does not name its host")
    static let isOwn = OriginFailure(.lied, "it leads back to this service")
    /// Of an address that is none of IP.
    static let isStrange = OriginFailure(.lied, "it leads to an address that is none of the Internet's")
}
