/// The end of a run that went on after a failure, which has been said already.
struct Reported: Error, Hashable, Sendable {
    let status: ExitStatus
}
