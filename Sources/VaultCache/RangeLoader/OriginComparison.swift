import VaultFetch
package import VaultModel
import VaultStorage

/// Compares samples of local bytes with an origin's bytes.
package struct OriginComparison: Sendable {
    /// The origin's version of the compared content.
    package struct Version: Sendable {
        package let information: ContentInformation
        package let freshness: Freshness
        /// The status of the first answer.
        let status: Int
    }

    package enum Verdict: Sendable {
        case same(Version)
        /// The bytes differ. The text says how, as the end of a sentence.
        case different(String)
    }

    private let loader: ResourceLoader
    private let length: Int64
    private let mine: @Sendable (ByteRange) throws -> [UInt8]

    /// The size of a sample in bytes, and the number of samples. Content that is no longer than all samples together is
    /// compared whole.
    static let (sampleBytes, sampleCount): (Int64, Int64) = (64 << 10, 8)

    /// Creates a comparison of local bytes with an origin's.
    ///
    /// - Parameters:
    ///   - length: the number of local bytes, above 0.
    ///   - mine: returns a range of the local bytes; may block.
    package init(_ loader: ResourceLoader, length: Int64, _ mine: @escaping @Sendable (ByteRange) throws -> [UInt8]) {
        self.loader = loader
        self.length = length
        self.mine = mine
    }

    /// Returns the ranges to compare: the whole content if it is short; otherwise its first and last bytes, and
    /// unpredictable ranges in between.
    static func samples(of length: Int64, using random: inout some RandomNumberGenerator) -> [ByteRange] {
        guard length > sampleBytes * sampleCount else { return [0..<length] }
        let starts = (0..<sampleCount - 2).map { _ in Int64.random(in: 0...(length - sampleBytes), using: &random) }
        return ([0, length - sampleBytes] + starts).map { $0..<$0 + sampleBytes }
    }

    /// Runs the comparison.
    ///
    /// If the origin does not support ranges, only the first sample is compared.
    ///
    /// - Throws: ``OriginFailure`` if the origin's bytes could not be obtained; `CancellationError`.
    package func run() async throws -> Verdict {
        var random = SystemRandomNumberGenerator()
        var version: Version?
        for sample in Self.samples(of: length, using: &random) {
            let asked = loader.store.index.now()
            let exchange = try await loader.origin.ask { url in
                OriginRequest(url: url, first: sample.lowerBound, end: sample.upperBound)
            }
            guard let (request, response) = exchange else { throw OriginFailure(.unreachable, "no URL to request") }
            defer { response.cancel() }
            let head = loader.heard(response.head)
            let content = try ResponseCheck.content(of: head, asked: request)
            guard let theirs = content.length else {
                throw OriginFailure(.invalidResponse, "the length was not stated")
            }
            guard theirs == length else { return .different("which has \(theirs) bytes and not \(length)") }
            if let version, !version.information.validators.agree(with: head.validators) {
                throw OriginFailure(.invalidResponse, "the content changed while it was compared")
            }
            let information = ResponseCheck.information(of: head, asked: request, content: content)
            version =
                version
                ?? Version(
                    information: information, freshness: Freshness(head.fields, asked: asked), status: head.status)
            let isPart = if case .partial = content { true } else { false }
            let wanted = isPart ? sample : 0..<sample.length
            if let place = try await firstDifference(in: wanted, from: response) {
                return .different("from byte \(place) on")
            }
            if !isPart { break }
        }
        guard let version else { throw OriginFailure(.unreachable, "nothing was compared") }
        return .same(version)
    }

    /// Returns the offset of the first received chunk that differs; nil if none does.
    private func firstDifference(in range: ByteRange, from response: any OriginResponse) async throws -> Int64? {
        let mine = mine
        let expected = try await loader.pool.run { try mine(range) }
        var position = 0
        while position < expected.count {
            guard let bytes = try await response.nextBytes() else {
                throw OriginFailure(.interrupted, "the answer ended early")
            }
            let count = min(bytes.count, expected.count - position)
            guard bytes.prefix(count).elementsEqual(expected[position..<position + count]) else {
                return range.lowerBound + Int64(position)
            }
            position += count
        }
        return nil
    }
}

// Handles a version that was imported from a file and that its origin has not confirmed.
extension RepresentationCheck {
    /// Compares an imported version with the origin's.
    ///
    /// If they match, the imported version becomes a copy of the origin's version and takes over its validators.
    ///
    /// - Returns: the verdict; nil if the origin has another version, or if the import is not entirely held.
    /// - Throws: ``OriginFailure``; `CancellationError`.
    func compareImport(_ imported: ContentInformation) async throws -> Revalidation.Verdict? {
        guard let length = imported.length, length > 0, loader.look(\.known.isHeldWhole) else { return nil }
        let (store, id) = (loader.store, loader.record.id)
        let comparison = OriginComparison(loader, length: length) { range in
            guard let resource = try store.index.resources.find(id) else { throw ResourceRecord.removed }
            return try store.segments.bytes(range, of: resource)
        }
        guard case .same(let version) = try await comparison.run() else { return nil }
        return try await loader.answers.exclusively { () async throws -> Revalidation.Verdict in
            // Another answer may have changed the state meanwhile.
            guard loader.information == imported else { return .changed }
            var information = version.information
            information.type = imported.type ?? information.type
            information.supportsRanges = true
            try await loader.learn(information)
            guard information.validators != Validators() else {
                return .stale(.unverifiable, status: version.status)
            }
            loader.update { $0.known.freshness = version.freshness }
            return .confirmed(status: version.status)
        }
    }
}
