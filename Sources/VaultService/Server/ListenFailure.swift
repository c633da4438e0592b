import Foundation

/// The service could not listen at its address.
package struct ListenFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where it should have listened.
    package let address: ListenAddress
    /// Why, in a few words.
    package let reason: String

    init(address: ListenAddress, reason: String) {
        self.address = address
        self.reason = reason
    }

    init(address: ListenAddress, errno: Int32) { self.init(address: address, reason: Self.reason(errno)) }

    /// What the system's error says, in a few words.
    static func reason(_ errno: Int32) -> String {
        switch errno {
        case EADDRINUSE, EEXIST: "it is in use"
        case EADDRNOTAVAIL: "it is no address of this machine"
        case ENOENT, ENOTDIR: "its folder is not there"
        case EACCES: "it takes rights that this process has not"
        default: "error \(errno)"
        }
    }

    /// One sentence without a full stop.
    package var description: String {
        "the service cannot listen on \(address) (\(reason)); end what listens there, or choose another address"
    }
}
