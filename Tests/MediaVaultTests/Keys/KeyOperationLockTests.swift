import Testing
import VaultModel

@testable import MediaVault

@Suite("One key operation at a time")
struct KeyOperationLockTests {
    @Test("A second key operation is refused with the name of the running one, which continues")
    func secondIsTold() async throws {
        let work = KeyOperationLock()
        let result = try await work.exclusively(.rewrap) {
            let error = await #expect(throws: VaultError.self) { try await work.exclusively(.retire) {} }
            #expect(error?.code == .busy && error?.message.contains("a rewrap is running") == true)
            #expect(work.act == .rewrap)
            return 7
        }
        #expect(result == 7 && work.act == nil)
    }

    @Test("A failed key operation releases the lock")
    func failureFrees() async throws {
        let work = KeyOperationLock()
        await #expect(throws: CancellationError.self) {
            try await work.exclusively(.rotate) { throw CancellationError() }
        }
        #expect(try await work.exclusively(.retire) { true })
    }

    @Test("Ending the lock waits for the running key operation and refuses new ones")
    func end() async throws {
        let work = KeyOperationLock()
        let (goOn, go) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let act = Task {
            try await work.exclusively(.rewrap) {
                begin.finish()
                for await _ in goOn {}
                return work.act
            }
        }
        for await _ in begun {}
        let ending = Task {
            await work.end()
            return work.act
        }
        var refusal: VaultError?
        // The end has begun as soon as another key operation is refused for it.
        while refusal?.code != .closed {
            refusal = await #expect(throws: VaultError.self) { try await work.exclusively(.retire) {} }
            try await Task.sleep(for: .milliseconds(1))
        }
        go.finish()
        #expect(try await act.value == .rewrap)
        #expect(await ending.value == nil)
    }

    /// Returns a resumed key operation that has begun; it ends when it is cancelled.
    private func goingOn(_ work: KeyOperationLock) async -> Task<Void, any Error> {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let resumed = Task {
            try await work.yielding(.reseal) {
                begin.finish()
                try await Task.sleep(for: .seconds(600))
            }
        }
        for await _ in begun {}
        return resumed
    }

    @Test("A resumed key operation yields to a requested one, but not to another resumed one")
    func givingWay() async throws {
        let work = KeyOperationLock()
        let resumed = await goingOn(work)
        #expect(work.act == .reseal)
        let busy = await #expect(throws: VaultError.self) { try await work.yielding(.reseal) {} }
        #expect(busy?.code == .busy)
        #expect(try await work.exclusively(.rotate) { work.act } == .rotate)
        await #expect(throws: CancellationError.self) { try await resumed.value }
        try await work.yielding(.reseal) {}
        #expect(work.act == nil)
    }

    @Test("Ending the lock cancels a resumed key operation")
    func endOfResumed() async throws {
        let work = KeyOperationLock()
        let resumed = await goingOn(work)
        await work.end()
        #expect(work.act == nil)
        await #expect(throws: CancellationError.self) { try await resumed.value }
    }

    @Test("Unfinished work begins once, again at once after it yields, and a minute after it fails")
    func resumeSchedule() {
        let now = ContinuousClock.now
        var resumeSchedule = ResumeSchedule()
        var begun = [resumeSchedule.begins(now: now), resumeSchedule.begins(now: now)]
        resumeSchedule.giveWay()
        begun.append(resumeSchedule.begins(now: now))
        resumeSchedule.fail(now: now)
        begun += [resumeSchedule.begins(now: now + .seconds(59)), resumeSchedule.begins(now: now + .seconds(60))]
        resumeSchedule.finish()
        begun.append(resumeSchedule.begins(now: now + .seconds(600)))
        #expect(begun == [true, false, true, false, true, false])
    }
}
