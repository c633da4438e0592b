import NIOCore

/// An address by which this machine reaches itself as another machine would.
enum PlaybackLink {
    /// An IPv4 address; nil where the machine has no network.
    static let beyondLoopback: String? = {
        let devices = (try? System.enumerateDevices()) ?? []
        let all = devices.compactMap { device -> String? in
            guard case .v4? = device.address else { return nil }
            return device.address?.ipAddress
        }
        return all.first { !$0.hasPrefix("127.") }
    }()
}
