import Testing

@testable import VaultModel

@Suite("Network settings")
struct NetworkSettingsTests {
    @Test(
        "A proxy is scheme, host and port; its text is shown without the password and kept with it",
        arguments: [
            ("http://proxy.example:3128", "http://proxy.example:3128", "http://proxy.example:3128"),
            ("HTTPS://Proxy.Example:443/", "https://proxy.example:443", "https://proxy.example:443"),
            ("socks5://[::1]:1080", "socks5://[::1]:1080", "socks5://[::1]:1080"),
            ("socks5h://me:pass@192.0.2.7:1", "socks5h://me:…@192.0.2.7:1", "socks5h://me:pass@192.0.2.7:1"),
            ("http://me@proxy.example:1", "http://me@proxy.example:1", "http://me@proxy.example:1"),
            ("http://me:@proxy.example:1", "http://me:…@proxy.example:1", "http://me:@proxy.example:1"),
            (
                "http://a%40b:p:@%2f%C3%A4@proxy.example:1", "http://a%40b:…@proxy.example:1",
                "http://a%40b:p%3A%40%2F%C3%A4@proxy.example:1"
            ),
        ])
    func proxy(text: String, shown: String, kept: String) throws {
        let proxy = try ProxyAddress(text)
        #expect(proxy.description == shown)
        #expect(proxy.secretText == kept)
        #expect(try ProxyAddress(proxy.secretText) == proxy)
    }

    @Test(
        "What is not a proxy is refused without being repeated",
        arguments: [
            "", "proxy.example:3128", "http://", "http://proxy.example", "http://proxy.example:0",
            "http://proxy.example:65536", "ftp://proxy.example:1", "socks4://proxy.example:1",
            "http://proxy.example:1/path", "http://proxy.example:1?q", "http://a b:1", "http://:secret@proxy.example:1",
            "http://me%3Ayou:secret@proxy.example:1", "http://me:secret%0A@proxy.example:1",
            "http://me:secret%00@proxy.example:1", "http://me:secret%FF@proxy.example:1",
            "http://me:…@proxy.example:1", "http://me:\(String(repeating: "s", count: 256))@proxy.example:1",
            "http://\(String(repeating: "secret", count: 400)).example:1",
        ])
    func malformed(text: String) {
        let error = #expect(throws: VaultError.self) { try ProxyAddress(text) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("secret") == false)
    }

    @Test("The longest credentials are accepted")
    func longest() throws {
        let long = String(repeating: "s", count: 255)
        #expect(try ProxyAddress("http://\(long):\(long)@proxy.example:1").password == long)
    }

    /// A DER sequence with the given content, which is the outer form of every certificate.
    private static func pem(_ content: Int, named name: String = "CERTIFICATE") -> String {
        let der = [0x30, 0x82, UInt8(content >> 8), UInt8(content & 0xFF)] + Array(repeating: 7, count: content)
        return "-----BEGIN \(name)-----\n\(Base64.encode(der))\n-----END \(name)-----\n"
    }

    @Test("Of a PEM file the certificates alone are kept, and no private key")
    func certificates() throws {
        let text = "A comment\r\n" + Self.pem(300) + Self.pem(9, named: "PRIVATE KEY") + Self.pem(200)
        let kept = try AuthorityCertificates(pem: text)
        #expect(kept.count == 2)
        #expect(kept.pem == Self.pem(300) + Self.pem(200))
        #expect(try AuthorityCertificates(pem: kept.pem.replacing("\n", with: "\r\n")) == kept)
    }

    @Test(
        "A file without certificates, with a damaged one, or of more than 64 KiB is refused",
        arguments: [
            "", "text", pem(300, named: "PRIVATE KEY"), String(pem(300).dropLast(30)),
            pem(300).replacing("Bwc", with: "!!!"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            pem(300) + String(repeating: "#", count: 64 << 10),
        ])
    func unfit(text: String) {
        #expect(throws: VaultError.self) { try AuthorityCertificates(pem: text) }
    }

    @Test("An address that would be longer when it is stored than when it is read is refused")
    func longAddress() throws {
        let credential = String(repeating: "!", count: 255)
        let zeros = String(repeating: "0", count: 1400)
        #expect(throws: VaultError.self) { try ProxyAddress("http://\(credential):\(credential)@[\(zeros)::1]:80") }
        let longest = try ProxyAddress("http://\(credential):\(credential)@\(String(repeating: "a", count: 255)):80")
        #expect(try ProxyAddress(longest.secretText) == longest)
    }

    @Test(
        "A user agent is 1 to 256 printable ASCII characters",
        arguments: [("a", true), ("Kiosk/2 (hall)", true), (String(repeating: "a", count: 256), true)] + [
            ("", false), (" a", false), ("a ", false), ("a\r\nX: y", false), ("ä", false),
            (String(repeating: "a", count: 257), false),
        ])
    func userAgent(name: String, isFit: Bool) {
        var settings = NetworkSettings()
        #expect(((try? settings.setUserAgent(name)) != nil) == isFit)
        #expect(settings.userAgent == (isFit ? name : nil))
    }

    @Test("At most 256 hosts have a proxy of their own, and one that is refused changes nothing")
    func hosts() throws {
        var settings = NetworkSettings()
        for number in 0..<256 { try settings.setProxy(.direct, for: "h\(number).example") }
        #expect(throws: VaultError.self) { try settings.setProxy(.direct, for: "one-more.example") }
        #expect(throws: VaultError.self) { try settings.setProxy(.direct, for: "h1.example:80") }
        #expect(settings.proxyForHost.count == 256)
        try settings.setProxy(nil, for: "H1.example")
        try settings.setProxy(try ProxyChoice("http://proxy.example:1"), for: "one-more.example")
        #expect(settings.proxyForHost["one-more.example"]?.proxy?.port == 1)
    }
}
