import Testing

@testable import VaultModel

@Suite("Client certificates")
struct ClientCertificateTests {
    /// A DER sequence with the given content, which is the outer form of every certificate and key.
    private static func pem(_ content: Int, named name: String = "CERTIFICATE") -> String {
        let der = [0x30, 0x82, UInt8(content >> 8), UInt8(content & 0xFF)] + Array(repeating: 7, count: content)
        return "-----BEGIN \(name)-----\n\(Base64.encode(der))\n-----END \(name)-----\n"
    }

    private static func short(named name: String) -> String {
        "-----BEGIN \(name)-----\n\(Base64.encode([0x30, 46] + Array(repeating: 7, count: 46)))\n-----END \(name)-----\n"
    }

    @Test(
        "The chain in its order and the key are kept, and nothing else; the key is never shown",
        arguments: ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"])
    func reading(label: String) throws {
        let key = label == "PRIVATE KEY" ? Self.short(named: label) : Self.pem(300, named: label)
        let text = "Bag Attributes\r\n" + key + Self.short(named: "EC PARAMETERS") + Self.pem(300) + Self.pem(200)
        let certificate = try ClientCertificate(pem: text)
        #expect(certificate.count == 2)
        #expect(certificate.chain == Self.pem(300) + Self.pem(200))
        #expect(certificate.key == key)
        #expect(try ClientCertificate(pem: certificate.secretText) == certificate)
        #expect("\(certificate)" == "client certificate with a chain of 2")
    }

    @Test(
        "A file without a certificate, without exactly one key, or with a damaged one is refused",
        arguments: [
            "", pem(300), pem(300, named: "PRIVATE KEY"),
            pem(300) + String(pem(300, named: "PRIVATE KEY").dropLast(30)),
            pem(300) + pem(300, named: "PRIVATE KEY") + pem(300, named: "EC PRIVATE KEY"),
            pem(300) + pem(300, named: "PRIVATE KEY").replacing("Bwc", with: "!!!"),
            pem(300) + pem(300, named: "PUBLIC KEY"),
        ])
    func unfit(text: String) {
        let error = #expect(throws: VaultError.self) { try ClientCertificate(pem: text) }
        #expect(error?.code == .invalidArgument)
    }

    @Test(
        "A key with a passphrase is refused, and the error says what to do",
        arguments: [
            pem(300, named: "ENCRYPTED PRIVATE KEY"),
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n"
                + "-----END RSA PRIVATE KEY-----\n",
        ])
    func encrypted(key: String) {
        let error = #expect(throws: VaultError.self) { try ClientCertificate(pem: Self.pem(300) + key) }
        #expect(error?.message.contains("export it without one") == true)
    }

    @Test("The certificate of the port comes before that of the host, and that before the one for all hosts")
    func order() throws {
        var certificates = ClientCertificates()
        for (host, length) in [(nil, 1000), ("a.example", 1001), ("A.example:8443", 1002)] as [(String?, Int)] {
            try certificates.set(pem: Self.pem(length) + Self.short(named: "PRIVATE KEY"), for: host)
        }
        for (url, length) in [
            ("https://b.example/", 1000), ("https://a.example/", 1001), ("https://a.example:8443/", 1002),
            ("https://b.a.example/", 1000),
        ] {
            #expect(certificates.certificate(for: try MediaURL(url))?.chain == Self.pem(length), "\(url)")
        }
        #expect(certificates.all.map(\.host) == [nil, "a.example", "a.example:8443"])
        try certificates.set(pem: nil, for: nil)
        try certificates.set(pem: nil, for: "a.example:8443")
        #expect(certificates.certificate(for: try MediaURL("https://b.example/")) == nil)
        #expect(certificates.certificate(for: try MediaURL("https://a.example:8443/"))?.chain == Self.pem(1001))
    }

    @Test("All of them together are bounded, and one too many changes nothing")
    func bounds() throws {
        var certificates = ClientCertificates()
        let one = Self.pem(15_000) + Self.short(named: "PRIVATE KEY")
        for number in 0..<3 { try certificates.set(pem: one, for: "h\(number).example") }
        let before = certificates
        #expect(throws: VaultError.self) { try certificates.set(pem: one, for: nil) }
        #expect(certificates == before)
        try certificates.set(pem: nil, for: "h0.example")
        try certificates.set(pem: one, for: nil)
        #expect(throws: VaultError.self) {
            try ClientCertificate(pem: one + String(repeating: "#", count: ClientCertificates.maxLength))
        }
    }
}
