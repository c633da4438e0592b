extension OriginConformance {
    /// What the checks found of one transport.
    public struct Report: Sendable, CustomStringConvertible {
        /// What does not conform, in the order of ``Requirement``.
        public internal(set) var findings: [Finding] = []
        /// The requirements that could not be tried, each with the reason.
        ///
        /// Among them are those that need a redirect between hosts on this machine, if the transport follows none even
        /// though it was given the hosts.
        public internal(set) var untried: [Requirement: String] = [:]

        /// Whether everything was tried, and nothing was found.
        public var isEmpty: Bool { findings.isEmpty && untried.isEmpty }

        /// A line for each finding and each requirement that could not be tried.
        public var description: String {
            let names = untried.keys.sorted { $0.rawValue < $1.rawValue }
            let reasons = names.map { "\($0) was not tried: \(untried[$0] ?? "")" }
            return (findings.map(\.description) + reasons).joined(separator: "\n")
        }
    }

    /// One case in which a transport does not do what a requirement says.
    public struct Finding: Hashable, Sendable, CustomStringConvertible {
        /// The requirement that is not met.
        public let requirement: Requirement
        /// What the requirement makes of this case.
        public let expected: String
        /// What happened instead.
        public let happened: String

        /// The finding in one line.
        public var description: String { "\(requirement): expected \(expected); \(happened)" }
    }
}
