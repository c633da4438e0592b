import Foundation
import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

/// Origins with certificates of an authority that the test creates.
@Suite("Trust in an origin's certificate", .soon)
struct TrustTests {
    private static func origin(trusting authorities: String?) -> CurlOrigin {
        var configuration = CurlConfiguration(userAgent: "MediaVault/test", connectTimeout: .seconds(20))
        configuration.authorities = authorities
        return CurlOrigin(configuration: configuration)
    }

    @Test("A certificate for this host from a trusted authority is accepted")
    func accepted() async throws {
        let authority = try TestAuthority()
        let server = try TLSOrigin(authority.certificate("good", for: "IP:127.0.0.1"))
        let response = try await Self.origin(trusting: authority.path).send(OriginRequest(url: server.url))
        #expect(response.head.status == 200)
        #expect(try await !response.allBytes().isEmpty)
    }

    enum Fault: CaseIterable { case otherHost, expired, early, selfSigned, unknownAuthority }

    @Test(
        "A certificate that is expired, not valid yet, self-signed, for another host or from an unknown authority is refused",
        arguments: Fault.allCases)
    func refused(_ fault: Fault) async throws {
        let authority = try TestAuthority()
        let files =
            switch fault {
            case .otherHost: try authority.certificate("other", for: "IP:127.0.0.2,DNS:localhost")
            case .expired: try authority.certificate("expired", for: "IP:127.0.0.1", days: -1)
            case .early: try authority.certificate("early", for: "IP:127.0.0.1", from: "20900102030405Z")
            case .selfSigned: try authority.selfSigned(for: "IP:127.0.0.1")
            case .unknownAuthority: try TestAuthority().certificate("good", for: "IP:127.0.0.1")
            }
        let server = try TLSOrigin(files)
        let failure = await #expect(throws: OriginFailure.self) {
            try await Self.origin(trusting: authority.path).send(OriginRequest(url: server.url))
        }
        let isUnknown = [.selfSigned, .unknownAuthority].contains(fault)
        #expect(failure?.kind == .unreachable)
        let reason =
            switch fault {
            case .otherHost: "its TLS certificate is not trusted"
            case .expired: "its TLS certificate has expired at 20"
            case .early:
                "its TLS certificate is not valid before 2090-01-02T03:04:05Z, and this machine's clock says 20"
            case .selfSigned, .unknownAuthority:
                "its TLS certificate is from an authority that neither the system nor the setting ca-file lists"
            }
        #expect(failure?.reason.hasPrefix(reason) == true, "\(failure?.reason ?? "")")
        #expect(failure?.remedy?.contains("have the certificate replaced") == true)
        #expect(failure?.remedy?.hasPrefix("add that authority") == isUnknown)
    }

    @Test("Authorities of the settings are trusted in addition to the file's")
    func added() async throws {
        let (system, own) = (try TestAuthority(), try TestAuthority())
        var settings = NetworkSettings()
        try settings.setAuthorities(pem: String(contentsOfFile: own.path, encoding: .utf8))
        var configuration = CurlConfiguration(userAgent: "MediaVault/test", connectTimeout: .seconds(20))
        configuration.authorities = system.path
        configuration.network = { [settings] () throws(OriginFailure) in settings }
        let client = CurlOrigin(configuration: configuration)
        for authority in [system, own] {
            let server = try TLSOrigin(authority.certificate("good", for: "IP:127.0.0.1"))
            #expect(try await client.send(OriginRequest(url: server.url)).head.status == 200)
        }
        let stranger = try TLSOrigin(TestAuthority().certificate("good", for: "IP:127.0.0.1"))
        await #expect(throws: OriginFailure.self) { try await client.send(OriginRequest(url: stranger.url)) }
    }

    /// A client that trusts an authority, with a certificate of its own.
    private static func client(trusting authority: TestAuthority, presenting pem: String?) throws -> CurlOrigin {
        var settings = NetworkSettings()
        try settings.clientCertificates.set(pem: pem, for: nil)
        var configuration = CurlConfiguration(userAgent: "MediaVault/test", connectTimeout: .seconds(20))
        configuration.authorities = authority.path
        configuration.network = { [settings] () throws(OriginFailure) in settings }
        configuration.allowsPrivate = { _ in true }
        return CurlOrigin(configuration: configuration)
    }

    @Test("An origin that requires a client certificate gets it for what the operator named, and for nothing else")
    func clientCertificate() async throws {
        let authority = try TestAuthority()
        let server = try TLSOrigin(authority.certificate("good", for: "IP:127.0.0.1"), clientsOf: authority)
        let client = try Self.client(
            trusting: authority, presenting: authority.certificate("client", for: "DNS:client.example").pem())
        #expect(try await client.send(OriginRequest(url: server.url)).head.status == 200)
        // Neither the connection nor the TLS session of the first request serves the second.
        let refused = await #expect(throws: OriginFailure.self) {
            try await client.send(OriginRequest(url: server.url, reach: .publicOnly))
        }
        #expect(refused?.reason == "it requires a client certificate")
        #expect(refused?.remedy?.contains("client-certificate") == true)
        #expect(try await client.send(OriginRequest(url: server.url)).head.status == 200)
    }

    @Test("A certificate that the origin does not accept, or whose key is another one, is named as the cause")
    func wrongClientCertificate() async throws {
        let (authority, stranger) = (try TestAuthority(), try TestAuthority())
        let server = try TLSOrigin(authority.certificate("good", for: "IP:127.0.0.1"), clientsOf: authority)
        let (own, other) = (
            try authority.certificate("client", for: "DNS:client.example"),
            try authority.certificate("other", for: "DNS:other.example")
        )
        for (pem, reason) in [
            (try stranger.certificate("client", for: "DNS:client.example").pem(), "it refused the client certificate"),
            (
                try own.pem(withKeyOf: other),
                "the client certificate in the settings cannot be used, or its key does not belong to it"
            ),
        ] {
            let client = try Self.client(trusting: authority, presenting: pem)
            let failure = await #expect(throws: OriginFailure.self) {
                try await client.send(OriginRequest(url: server.url))
            }
            #expect(failure?.reason == reason)
            #expect(failure?.remedy == "correct the setting client-certificate")
        }
    }

    @Test("The system's authorities are used if no others are given")
    func system() async throws {
        let authority = try TestAuthority()
        let server = try TLSOrigin(authority.certificate("good", for: "IP:127.0.0.1"))
        await #expect(throws: OriginFailure.self) {
            try await Self.origin(trusting: nil).send(OriginRequest(url: server.url))
        }
    }
}

/// An authority that issues certificates for one test, in a folder that is removed with it.
private final class TestAuthority {
    /// A certificate and its key.
    struct Files {
        let certificate: String
        let key: String
        /// Keeps the folder alive.
        let authority: TestAuthority

        /// Returns the certificate followed by its key, or by another one, as PEM.
        func pem(withKeyOf other: Files? = nil) throws -> String {
            try String(contentsOfFile: certificate, encoding: .utf8)
                + String(contentsOfFile: (other ?? self).key, encoding: .utf8)
        }
    }

    private let folder: URL

    /// The authority's own certificate.
    var path: String { file("authority.pem") }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "vault-authority-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try run(
            ["req", "-x509"] + Self.newKey + [
                "-days", "2", "-subj", "/CN=An authority", "-keyout", file("authority.key"), "-out", path,
            ])
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Issues a certificate for names as they appear in `subjectAltName`.
    func certificate(_ name: String, for names: String, days: Int = 2) throws -> Files {
        let (request, extensions) = (file(name + ".csr"), file(name + ".ext"))
        let files = Files(certificate: file(name + ".pem"), key: file(name + ".key"), authority: self)
        try Data("subjectAltName=\(names)\n".utf8).write(to: URL(filePath: extensions))
        try run(["req"] + Self.newKey + ["-subj", "/CN=An origin", "-keyout", files.key, "-out", request])
        try run([
            "x509", "-req", "-in", request, "-CA", path, "-CAkey", file("authority.key"), "-CAcreateserial",
            "-days", "\(days)", "-extfile", extensions, "-out", files.certificate,
        ])
        return files
    }

    /// Creates a self-signed certificate.
    func selfSigned(for names: String) throws -> Files {
        let files = Files(certificate: file("self.pem"), key: file("self.key"), authority: self)
        try run(
            ["req", "-x509"] + Self.newKey + [
                "-days", "2", "-subj", "/CN=An origin", "-addext", "subjectAltName=\(names)", "-keyout", files.key,
                "-out", files.certificate,
            ])
        return files
    }

    /// Issues such a certificate whose dates begin at a time of its own, in the form of ASN.1.
    func certificate(_ name: String, for names: String, from begin: String) throws -> Files {
        let files = try certificate(name, for: names)
        let settings = """
            [ca]
            default_ca = own
            [own]
            database = \(file("issued"))
            rand_serial = yes
            new_certs_dir = \(folder.path)
            default_md = sha256
            policy = any
            [any]
            commonName = supplied

            """
        try Data().write(to: URL(filePath: file("issued")))
        try Data(settings.utf8).write(to: URL(filePath: file("settings")))
        try run([
            "ca", "-batch", "-notext", "-config", file("settings"), "-in", file(name + ".csr"), "-cert", path,
            "-keyfile", file("authority.key"), "-startdate", begin, "-enddate", "20950101000000Z", "-extfile",
            file(name + ".ext"), "-out", files.certificate,
        ])
        return files
    }

    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

    private func file(_ name: String) -> String { folder.appending(path: name).path }

    private func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(arguments)")
    }
}

/// An origin that speaks TLS on a loopback port, and answers every request with a page. It may require certificates of
/// its clients.
private final class TLSOrigin {
    let url: MediaURL
    private let process = Process()
    private let authority: TestAuthority
    /// Kept open, because the server ends with its standard input.
    private let input = Pipe()

    init(_ files: TestAuthority.Files, clientsOf clients: TestAuthority? = nil) throws {
        authority = files.authority
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-cert", files.certificate, "-key", files.key, "-www",
        ]
        if let clients { process.arguments? += ["-Verify", "1", "-verify_return_error", "-CAfile", clients.path] }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var told = ""
        var port: Int?
        while port == nil {
            let more = output.fileHandleForReading.nextBytes()
            try #require(!more.isEmpty, "the server did not start: \(told)")
            told += String(decoding: more, as: UTF8.self)
            let line = told.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                .first { $0.hasPrefix("ACCEPT 127.0.0.1:") }
            port = line.flatMap { Int($0.dropFirst("ACCEPT 127.0.0.1:".count)) }
        }
        url = MediaURL(scheme: "https", host: "127.0.0.1", port: port, path: "/", query: nil)
    }

    deinit {
        // The process inherits the signal mask of a thread that may block every signal that can be blocked.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
