import Testing

@testable import VaultFetch

@Suite("Public and other network addresses")
struct NetworkAddressTests {
    @Test(
        "Public addresses are public",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
            "2001:200::1", "::ffff:1.1.1.1", "64:ff9b::808:808", "2002:0808:0808::1",
        ])
    func publicOnes(text: String) throws { #expect(try #require(NetworkAddress(text)).isPublic) }

    @Test(
        "Loopback, private, link-local, shared, reserved, multicast and documentation addresses are never public",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
            "127.255.255.255", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.170", "192.0.2.1",
            "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255", "198.51.100.7",
            "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1",
            "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
            "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001::1", "2001:db8::1", "3fff::1", "fc00::1",
            "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1", "100::1", "4000::1",
        ])
    func otherOnes(text: String) throws { #expect(try !#require(NetworkAddress(text)).isPublic) }

    @Test(
        "Only the system's own spelling is read", arguments: ["", "localhost", "0x7f.1", "2130706433"])
    func oddSpellings(text: String) { #expect(NetworkAddress(text) == nil) }

    @Test("Addresses that can be bound to are this machine's, in every form; others are not")
    func ownAddresses() throws {
        for text in ["127.0.0.1", "127.3.2.1", "0.0.0.0", "::ffff:127.0.0.1"] {
            #expect(try #require(NetworkAddress(text)).isLocal, "\(text)")
        }
        for text in ["1.1.1.1", "192.0.2.77", "2606:4700::1111"] {
            #expect(try !#require(NetworkAddress(text)).isLocal, "\(text)")
        }
    }
}
