/// Which addresses a request may be sent to.
public enum NetworkReach: Hashable, Sendable {
    /// Any: the operator named the URL, and it may lie on this machine or in this house.
    case anywhere
    /// Addresses of the public Internet alone: somebody else named the URL.
    case publicOnly
}
