/// A path that an option or an environment variable may name.
struct PathChoice: Hashable, Sendable {
    /// What the option says, where it is there.
    let option: String?
    /// The option, as messages name it.
    let name: String
    let variable: String

    /// The path named, absolute; nil where neither names one.
    func path(in surroundings: Surroundings) throws -> String? {
        guard option?.isEmpty != true else { throw UsageError("\(name) is empty; name a path") }
        return (option ?? surroundings[variable]).map { AbsolutePath.of($0, from: surroundings.workingDirectory) }
    }
}
