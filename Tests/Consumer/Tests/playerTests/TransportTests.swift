import MediaVault
import MediaVaultTesting
import Testing

/// A transport that is far from done.
private struct Unfinished: Origin {
    func send(_ request: OriginRequest) async throws -> any OriginResponse {
        throw OriginFailure(.unreachable, "nothing is sent yet")
    }
}

@Test("An app's tests find what its transport lacks")
func unfinishedTransport() async {
    let report = await OriginConformance { _ in Unfinished() }.run([.followsRedirects, .namesNoSecrets])
    #expect(Set(report.findings.map(\.requirement)) == [.followsRedirects], "\(report)")
}
