package import MediaVault

/// What a shred came to.
package struct ShredDocument: Codable, Sendable {
    package struct Title: Codable, Sendable {
        package let url: String
        /// The bytes of its files, which are gone.
        package let bytes: OrNull<Int64>
        /// What its receipt calls it.
        package let subject: OrNull<String>
        package let problem: OrNull<ProblemDocument>
    }

    package let resources: [Title]
    /// `destroyed`, or `removed` where the generation that wrapped the keys is still there.
    package let outcome: String
    /// The current generation.
    package let generation: Int

    package init(_ report: ShredReport) {
        resources = report.titles.map { title in
            Title(
                url: title.url, bytes: OrNull(title.bytes), subject: OrNull(title.subject),
                problem: OrNull(title.error.map { APIProblem.document($0) }))
        }
        outcome = report.outcome.rawValue
        generation = report.generation
    }
}
