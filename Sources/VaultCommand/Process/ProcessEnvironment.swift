import Foundation

/// Environment variables, and the folder that the process was started in.
struct ProcessEnvironment: Sendable {
    private let variables: [String: String]
    /// The folder that relative paths start from.
    let workingDirectory: String

    init(variables: [String: String], workingDirectory: String) {
        self.variables = variables
        self.workingDirectory = workingDirectory
    }

    /// The environment of this process.
    static var current: ProcessEnvironment {
        ProcessEnvironment(
            variables: ProcessInfo.processInfo.environment,
            workingDirectory: FileManager.default.currentDirectoryPath)
    }

    /// The variable's value; nil if it is unset or empty.
    subscript(name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
