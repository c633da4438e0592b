import VaultModel

/// What a transport made of one request: the head, the body as far as it came, and the error if there was one.
struct Reception: Sendable, CustomStringConvertible {
    var head: OriginHead?
    var bytes: [UInt8] = []
    /// The lengths of the pieces in which the body came.
    var pieces: [Int] = []
    var error: (any Error)?
    /// Whether a time limit ended the wait for it.
    var isUnended = false

    /// The kind of the failure; nil if there was none, or another error.
    var failure: OriginFailure.Kind? { (error as? OriginFailure)?.kind }

    /// Sends a request, and reads the body to its end.
    static func of(_ request: OriginRequest, from origin: any Origin) async -> Reception {
        var reception = Reception()
        do {
            let response = try await origin.send(request)
            reception.head = response.head
            await reception.read(response)
        } catch {
            reception.error = error
        }
        return reception
    }

    /// Reads on, to the end or until there are this many bytes.
    mutating func read(_ response: any OriginResponse, upTo count: Int = .max) async {
        do {
            while bytes.count < count, let more = try await response.nextBytes() {
                bytes += more
                pieces.append(more.count)
            }
        } catch {
            self.error = error
        }
    }

    /// What happened, for a finding.
    var description: String {
        let answer = head.map { "HTTP \($0.status) with \(bytes.count) bytes came" }
        let failure = error.map { "\(Self.name($0)) was thrown" }
        guard !isUnended else { return "it had not ended in time" }
        return [answer, failure].compactMap(\.self).joined(separator: ", then ")
    }

    /// An error as findings name it.
    static func name(_ error: any Error) -> String {
        guard let failure = error as? OriginFailure else { return "\(type(of: error))" }
        return "OriginFailure of kind \(failure.kind) (\(failure.reason))"
    }
}
