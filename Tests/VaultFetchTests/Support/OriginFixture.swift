import OriginTestSupport
import Testing
import VaultModel

@testable import VaultFetch

extension CurlOrigin {
    /// A client with the product's time limits, except for those that a test shortens.
    ///
    /// - Parameter hosts: hosts that redirects may lead to although they are private.
    static func make(
        connect: Duration = .seconds(10), stall: Duration = .seconds(30), allowing hosts: Set<String> = []
    ) -> CurlOrigin {
        var configuration = CurlConfiguration(
            userAgent: "MediaVault/test", connectTimeout: connect, stallTimeout: stall)
        configuration.allowsPrivate = { hosts.contains($0) }
        return CurlOrigin(configuration: configuration)
    }
}

extension OriginResponse {
    /// Reads up to the end.
    func allBytes() async throws -> [UInt8] {
        var all: [UInt8] = []
        while let bytes = try await nextBytes() { all += bytes }
        return all
    }

    /// Reads at least `count` bytes, unless the body ends before.
    func bytes(atLeast count: Int) async throws -> [UInt8] {
        var all: [UInt8] = []
        while all.count < count, let bytes = try await nextBytes() { all += bytes }
        return all
    }

    /// Reads until a failure; returns the bytes before it, and the failure.
    func bytesBeforeFailure() async throws -> ([UInt8], OriginFailure) {
        var all: [UInt8] = []
        do {
            while let bytes = try await nextBytes() { all += bytes }
        } catch let failure as OriginFailure {
            return (all, failure)
        }
        Issue.record("the body ended properly after \(all.count) bytes")
        return (all, OriginFailure(.invalidResponse, "no failure"))
    }
}

extension Trait where Self == TimeLimitTrait {
    /// A test that hangs fails.
    static var soon: TimeLimitTrait { .timeLimit(.minutes(5)) }
}
