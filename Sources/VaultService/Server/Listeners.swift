import ServiceLifecycle

/// Listeners that begin and end together: a group of services would end one after the other.
struct Listeners: Service {
    let all: [any Service]

    func run() async throws {
        try await withThrowingTaskGroup { group in
            for listener in all { group.addTask { try await listener.run() } }
            // One that fails ends the others.
            while try await group.next() != nil {}
        }
    }
}
