import NIOCore

/// An address with which this machine can connect to itself as another machine would.
enum PlaybackLink {
    /// An IPv4 address other than loopback; nil if the machine has none.
    static let beyondLoopback: String? = {
        let devices = (try? System.enumerateDevices()) ?? []
        let all = devices.compactMap { device -> String? in
            guard case .v4? = device.address else { return nil }
            return device.address?.ipAddress
        }
        return all.first { !$0.hasPrefix("127.") }
    }()
}
