import Foundation

/// What a run finds around it: environment variables and the folder it was started in.
struct Surroundings: Sendable {
    private let variables: [String: String]
    /// The folder that relative paths start from.
    let workingDirectory: String

    init(variables: [String: String], workingDirectory: String) {
        self.variables = variables
        self.workingDirectory = workingDirectory
    }

    /// Those of this process.
    static var current: Surroundings {
        Surroundings(
            variables: ProcessInfo.processInfo.environment,
            workingDirectory: FileManager.default.currentDirectoryPath)
    }

    /// The variable's value; nil where it is not set, or empty.
    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
