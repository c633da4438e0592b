/// The exit code and the output of a run of the command.
struct CommandResult: Sendable {
    /// The exit code; 128 plus the signal's number if a signal ended the run.
    let status: Int32
    let output: [UInt8]
    /// The lines of standard error.
    let errors: [String]

    var text: String { String(decoding: output, as: UTF8.self) }
    /// Standard error, if it is one line.
    var error: String? { errors.count == 1 ? errors[0] : nil }
}
