import Testing
import VaultModel

@testable import MediaVault

@Suite("One act on the keys at a time")
struct KeyOperationLockTests {
    @Test("the second act is told which one works, and that one goes on")
    func secondIsTold() async throws {
        let work = KeyOperationLock()
        let result = try await work.exclusively(.rewrap) {
            let error = await #expect(throws: VaultError.self) { try await work.exclusively(.retire) {} }
            #expect(error?.code == .busy && error?.message.contains("keys rewrap") == true)
            #expect(work.act == .rewrap)
            return 7
        }
        #expect(result == 7 && work.act == nil)
    }

    @Test("an act that fails leaves the way free")
    func failureFrees() async throws {
        let work = KeyOperationLock()
        await #expect(throws: CancellationError.self) {
            try await work.exclusively(.rotate) { throw CancellationError() }
        }
        #expect(try await work.exclusively(.retire) { true })
    }

    @Test("its end waits for the act that works, and lets no other begin")
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
        // The end has begun as soon as another act is refused for it.
        while refusal?.code != .closed {
            refusal = await #expect(throws: VaultError.self) { try await work.exclusively(.retire) {} }
            await Task.yield()
        }
        go.finish()
        #expect(try await act.value == .rewrap)
        #expect(await ending.value == nil)
    }

    /// An act that is gone on with, once it has begun; it ends when it is cancelled.
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

    @Test("what is gone on with gives way to an act that is asked for, and to no other of its kind")
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

    @Test("closing ends what is gone on with")
    func endOfResumed() async throws {
        let work = KeyOperationLock()
        let resumed = await goingOn(work)
        await work.end()
        #expect(work.act == nil)
        await #expect(throws: CancellationError.self) { try await resumed.value }
    }

    @Test("what was left undone is begun once, after an act that came before it at once, after a failure in a minute")
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
