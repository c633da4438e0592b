/// How a run of the command ended, and what it said.
struct CommandResult: Sendable {
    /// The exit code; 128 and the signal's number where one ended it.
    let status: Int32
    let output: [UInt8]
    /// The lines of standard error.
    let errors: [String]

    var text: String { String(decoding: output, as: UTF8.self) }
    /// Standard error where it is one line.
    var error: String? { errors.count == 1 ? errors[0] : nil }
}
