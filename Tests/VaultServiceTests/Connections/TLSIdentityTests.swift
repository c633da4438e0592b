import Logging
import NIOSSL
import Testing
import VaultModel

@testable import VaultService

@Suite("Certificates that are renewed while the service runs", .serialized)
struct TLSIdentityTests {
    /// Checks often enough for changed files to be read.
    private func look(_ identity: TLSIdentity) { for _ in 0..<3 { identity.look() } }

    @Test("A new pair is used once it is complete, and logged once; the same pair is not read again")
    func renewed() throws {
        let (pair, next, log) = (try TLSPair(), try TLSPair(), LogRecorder())
        let identity = try TLSIdentity(pair.files, every: .seconds(60), logger: log.logger)
        let first = identity.context
        look(identity)
        #expect(identity.context === first && log.lines.isEmpty)
        try pair.replace(by: next)
        look(identity)
        let used = try next.files.context().configuration.certificateChain
        #expect(identity.context.configuration.certificateChain == used)
        #expect(identity.context !== first && log.lines.map(\.level) == [.notice])
    }

    @Test("A mismatched pair leaves the old one in use and is logged once; it is used as soon as it matches")
    func mismatch() throws {
        let (pair, next, log) = (try TLSPair(), try TLSPair(), LogRecorder())
        let identity = try TLSIdentity(pair.files, every: .seconds(60), logger: log.logger)
        let first = identity.context
        try pair.replace(["certificate"], by: next)
        for _ in 0..<3 { look(identity) }
        #expect(identity.context === first && log.lines.map(\.level) == [.warning])
        #expect(log.lines[0].text.contains("does not match"))
        try pair.replace(["key"], by: next)
        look(identity)
        #expect(identity.context !== first && log.lines.map(\.level) == [.warning, .notice])
    }

    @Test("A hang-up has the files read at once")
    func reloaded() throws {
        let (pair, next, log) = (try TLSPair(), try TLSPair(), LogRecorder())
        let identity = try TLSIdentity(pair.files, every: .seconds(60), logger: log.logger)
        let first = identity.context
        try pair.replace(by: next)
        identity.reload()
        #expect(identity.context !== first && log.lines.map(\.level) == [.notice])
        look(identity)
        #expect(log.lines.count == 1, "the same files are not read again")
    }

    @Test("TLS 1.2 has suites with forward secrecy and authenticated encryption only")
    func suites() throws {
        let pair = try TLSPair()
        let suites = try pair.files.context().configuration.cipherSuiteValues
        withExtendedLifetime(pair) {}
        let isLegacy: Set<NIOTLSCipher> = [
            .TLS_RSA_WITH_AES_128_CBC_SHA, .TLS_RSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
            .TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
        ]
        #expect(suites.count == 6 && isLegacy.isDisjoint(with: suites))
    }

    @Test("Unreadable files are an error at the start")
    func unreadable() throws {
        let pair = try TLSPair()
        let files = TLSFiles(certificate: pair.files.certificate, key: "/nowhere")
        #expect(throws: VaultError.self) { try TLSIdentity(files, every: .seconds(60), logger: .silent) }
    }
}
