import VaultModel
import VaultStorage

// How transfers start, receive bytes, and end.
extension LoaderState {
    /// Adds a fetch of a gap, which the caller starts.
    mutating func addFetch(
        _ gap: ByteRange, now: ContinuousClock.Instant, isSeparate: Bool = false
    ) -> FetchState.ID {
        lastID += 1
        var fetch = FetchState(id: lastID, range: gap, now: now)
        let mayStore = permissions.storeAccepts && mode.stores
        fetch.destination = isSeparate ? .ownReaders : mayStore ? .store : .readers
        // If the representation is bound to one connection, earlier fetches continue, because the new fetch's bytes may
        // turn out not to belong to the representation.
        fetches.add(fetch, isCutting: !known.isBound && !isSeparate)
        return lastID
    }

    /// Records that the head of a fetch's answer is valid.
    ///
    /// - Parameters:
    ///   - end: one past the last byte that the body brings; nil if unknown.
    ///   - fromZero: whether the body begins at byte 0, whatever range was requested.
    mutating func accept(
        _ id: FetchState.ID, end: Int64?, fromZero: Bool, of representation: RepresentationID? = nil
    ) -> Effects {
        guard fetches[id] != nil else { return Effects() }
        fetches[id]?.accept(
            end: end, fromZero: fromZero, of: representation, length: known.information?.length)
        return readers.wake(readers.takers(of: id))
    }

    /// Takes bytes that have arrived for a fetch.
    ///
    /// - Returns: the number of bytes to count as fetched, which is 0 if the mode stores nothing.
    mutating func received(
        _ bytes: [UInt8], by id: FetchState.ID, now: ContinuousClock.Instant
    ) -> (used: Int64, effects: Effects) {
        var effects = Effects()
        guard var fetch = fetches[id] else { return (0, effects) }
        if fetch.phase == .released { fetch.end = fetches.lateBytesEnd(of: fetch) }
        let isNew = !known.map.covered.contains(fetch.present)
        let used = fetch.append(bytes, now: now)
        // Tiny answers do not count as progress, because each costs a request, a file and a row.
        if isNew, fetch.requestedOfTinyAnswer == nil { retry.received(used) }
        // A separate transfer's bytes are never offered to the store, so they are not counted here.
        if !fetch.isStoring, !fetch.isSeparate, mode.stores { effects.passedThrough = used }
        if fetch.isWorthSealing { effects.wake(fetch.sealerSignal.raise()) }
        let present = fetch.present
        fetches[id] = fetch
        effects.merge(readers.wake(readers.takers(of: id).filter { $0.position < present }))
        return (mode.stores ? used : 0, effects)
    }

    /// Records that a fetch has stopped receiving. Readers waiting for its bytes get the failure, or plan a new fetch.
    ///
    /// - Parameter chance: a random number from 0 to 1, which varies the time of the next attempt.
    mutating func receiverEnded(
        _ id: FetchState.ID, _ failure: FetchFailure?, now: ContinuousClock.Instant, chance: Double
    ) -> Effects {
        guard var fetch = fetches[id] else { return Effects() }
        // The origin is not at fault if it drops a client that takes nothing.
        var failure = fetch.hasStoodStill && failure?.isInterruption ?? false ? nil : failure
        if let asked = fetch.requestedOfTinyAnswer, failure == nil, fetch.present >= fetch.end {
            let given = fetch.end - fetch.start
            failure = .origin(OriginFailure(.interrupted, "it sent \(given) of the \(asked) requested bytes"))
        }
        if let failure { retry.failed(failure, now: now, chance: chance) }
        fetch.enter(.ended)
        var effects = Effects(waking: fetch.sealerSignal.raise())
        fetches[id] = fetch
        effects.merge(
            readers.wake(readers.takers(of: id)) { reader in
                guard reader.position >= fetch.present || fetch.hasWrongEnd else { return }
                // If a fetch that had to keep the representation failed, readers without that demand make a new
                // request.
                let isTheirs = !fetch.keepsRepresentation || reader.keepsRepresentation
                (reader.failure, reader.fetch) = (isTheirs ? failure : nil, nil)
            })
        return effects
    }

    /// Forgets the bytes of an answer that continued past its stated end, or that was not proven to be the requested
    /// range.
    ///
    /// - Returns: the segments to discard.
    mutating func forgetBytes(of id: FetchState.ID) -> (Set<SegmentID>, Effects) {
        guard let fetch = fetches[id] else { return ([], Effects()) }
        for segment in fetch.segments { known.map.remove(segment, isDamaged: false) }
        return (fetch.segments, readers.wake(readers.values))
    }

    /// Ends a separate transfer's readers at the end of its body, whose length was unknown.
    ///
    /// - Returns: whether the transfer is separate.
    mutating func endSeparateReaders(of id: FetchState.ID) -> (Bool, Effects) {
        guard let fetch = fetches[id], fetch.isSeparate else { return (false, Effects()) }
        return (true, readers.wake(readers.takers(of: id)) { $0.end = fetch.present })
    }

    /// Removes a finished fetch, unless readers still need its unstored bytes.
    mutating func remove(_ id: FetchState.ID) -> Effects {
        if let fetch = fetches[id], !fetch.isStoring, readers.isWanted(fetch, leaving: nil) {
            // Keep unstored bytes for the readers that take them from this fetch.
            fetches[id]?.enter(.keptForReaders)
            return Effects()
        }
        fetches[id] = nil
        var effects = fetches.wakeWaitingSealers()
        effects.merge(readers.wake(readers.takers(of: id)) { $0.fetch = nil })
        return effects
    }

    // MARK: Sealing

    /// Decides what a fetch's sealer does next.
    mutating func sealWork(_ id: FetchState.ID) -> (FetchTable.SealWork, Effects) {
        fetches.sealWork(id, beside: known.map)
    }

    /// Records that a segment's blocks are sealed and can be opened.
    mutating func sealed(_ segment: SegmentDescription, by id: FetchState.ID) -> Effects {
        var effects = Effects()
        // An abandoned fetch, or one kept only for its readers, wrote for a representation that is no longer read.
        guard var fetch = fetches[id], !fetch.isSeparate else { return effects }
        known.map.put(segment)
        fetch.segments.insert(segment.id)
        fetch.sealedTo = max(fetch.sealedTo, segment.range.upperBound)
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        effects.merge(fetches.wakeWaitingSealers())
        return effects
    }

    /// Records that the store refused bytes.
    ///
    /// The segment, if any, is lost, and the fetch's further bytes only pass through.
    mutating func storeFailed(_ id: FetchState.ID, segment: SegmentID?, _ failure: VaultError) -> Effects {
        var effects = Effects()
        // A late block for a representation that is no longer read does not mean that the store has failed.
        if failure.code != .changed { permissions.refuse(failure) }
        if let segment { effects.passedThrough = known.lose(segment) }
        guard var fetch = fetches[id] else { return effects }
        if fetch.isStoring { effects.passedThrough += fetch.present - fetch.sealedTo }
        if !fetch.isSeparate { fetch.destination = .readers }
        // Count everything as sealed, so that nothing waits for the sealer any more.
        fetch.sealedTo = fetch.end
        fetch.trim()
        effects.wake(fetch.receiverSignal.raise())
        fetches[id] = fetch
        effects.merge(fetches.wakeWaitingSealers())
        return effects
    }

    /// Makes the sealer retry bytes that could not be written, after space was freed for them.
    ///
    /// - Parameter lost: the segment that was lost in the failure; nil if none was.
    /// - Returns: false if the fetch does not store its bytes, or if this was already tried at the same byte.
    mutating func rewind(_ id: FetchState.ID, lost: SegmentID?) -> (Bool, Effects) {
        var effects = Effects()
        guard let fetch = fetches[id], fetch.isStoring, fetch.rewoundAt != fetch.sealedTo else {
            return (false, effects)
        }
        if let lost { effects.passedThrough = known.lose(lost) }
        fetches[id]?.rewoundAt = fetch.sealedTo
        fetches[id]?.takenTo = fetch.sealedTo
        return (true, effects)
    }
}

// Decides which reader takes its bytes from which fetch, and which fetches must go on.
//
// A bound representation has no validator that distinguishes it from another version, so one connection alone must fill
// it.
extension LoaderState {
    /// What an answer's bytes are used for.
    enum Share {
        /// They fill the representation being read.
        case fill
        /// They begin another representation.
        case begin
        /// They pass unstored to one reader, separately from the representation that other readers are reading.
        case apart
        /// No reader is waiting for them any more, because the readers that were waiting now have their own transfers.
        case nobodys
        /// The waiting readers cannot use them, because these readers have received bytes from elsewhere.
        case none
    }

    /// Decides how to use an answer's bytes for a bound representation, depending on the connection that brought them.
    ///
    /// A reader takes all its bytes from one transfer. If the answer brings fewer bytes than the reader wants, the
    /// reader gets a transfer of its own.
    ///
    /// - Parameter isSource: whether the answer came from the same URL as the bytes so far. If not, the same connection
    ///   does not count.
    mutating func share(of id: FetchState.ID, from connection: UInt64?, isSource: Bool = true) -> (Share, Effects) {
        var effects = Effects()
        guard known.isBound, let fetch = fetches[id], !fetch.isSeparate else { return (.fill, effects) }
        guard fetch.isActive else { return (.nobodys, effects) }
        let reading = readers.values.filter(readers.isCurrent)
        let hasBytes =
            !known.map.covered.isEmpty || reading.contains(where: \.hasBegun)
            || fetches.values.contains { other in
                guard other.id != id, !other.isSeparate else { return false }
                // Another answer's first bytes may be on their way.
                return other.present > other.start || other.phase == .receiving
            }
        guard hasBytes, !isSource || connection == nil || connection != known.connection else {
            known.connection = connection
            // Other fetches may have cut this one short when they were added. Now only this fetch may bring the bytes
            // that they were to bring.
            fetches[id]?.goOn()
            let takers = readers.takers(of: id)
            if let fetch = fetches[id] { for reader in takers { readers.detach(reader, from: fetch) } }
            effects.merge(readers.wake(takers))
            return (takers.isEmpty || readers.isTaken(id) ? .fill : .nobodys, effects)
        }
        let waiting = readers.awaiting(id)
        guard !waiting.isEmpty else { return (readers.isTaken(id) ? .none : .nobodys, effects) }
        // Count readers whose answers have not begun as well, as in ``ReaderTable/hasCurrent``.
        guard reading.contains(where: { $0.hasBegun || $0.fetch != id }) else {
            // Forget the representation at once. Storing the new one takes time, and a reader that arrives meanwhile
            // must not read the old one.
            effects.merge(forget(keeping: id))
            return (.begin, effects)
        }
        // A fetch extended to whole blocks starts before the awaited bytes, so test whether its range contains them
        // all.
        let owner = waiting.first { fetch.start <= $0.position && $0.end <= fetch.end }
        effects.merge(readers.wake(waiting.filter { $0.id != owner?.id }) { $0.separate() })
        guard let owner else { return (readers.isTaken(id) ? .none : .nobodys, effects) }
        readers[owner.id]?.isSeparate = true
        fetches[id]?.destination = .ownReaders
        // Other readers may have demanded later bytes, but this reader also needs the bytes before those.
        fetches[id]?.demand = owner.position
        return (.apart, effects)
    }

    /// Returns whether only this transfer can bring its bytes, because other connections may bring another version and
    /// these bytes are not stored.
    func isOnlySource(_ fetch: FetchState) -> Bool { fetch.isSeparate || known.isBound && !fetch.isStoring }

    /// Attaches a reader to a fetch, and releases the fetch that it had before.
    ///
    /// - Parameter isDemanding: whether the fetch must run up to the reader's position. Before the first answer it must
    ///   not, because the reader's position may be far ahead.
    mutating func attach(_ reader: inout ReaderState, to fetch: FetchState.ID, isDemanding: Bool = true) -> Effects {
        var effects = Effects()
        let old = reader.fetch
        reader.fetch = fetch
        if isDemanding { effects.merge(demand(reader.position, of: fetch)) }
        guard let old, old != fetch else { return effects }
        // No other transfer may bring the bytes that a bound transfer still owes.
        let goesOn = known.isBound && reader.hasBegun && fetches.coming.contains { $0.id == old && $0.owes(reader) }
        if !goesOn { effects.merge(release(old, leaving: reader)) }
        return effects
    }

    /// Records how far a reader of a fetch has got, so that the fetch takes more bytes and frees those that all have.
    mutating func demand(_ position: Int64, of id: FetchState.ID) -> Effects {
        var effects = Effects()
        guard var fetch = fetches[id] else { return effects }
        let slowest = isOnlySource(fetch) ? readers.slowest(of: fetch, besides: position) : .max
        guard position > fetch.demand || slowest != fetch.slowest else { return effects }
        fetch.demand = max(fetch.demand, position)
        fetch.slowest = slowest
        fetch.trim()
        if fetch.mayReceive { effects.wake(fetch.receiverSignal.raise()) }
        fetches[id] = fetch
        return effects
    }

    /// Cancels a fetch whose last reader has left, unless its bytes are still needed.
    ///
    /// - Parameter leaving: the reader that is leaving, if the table still has it; otherwise nil.
    mutating func release(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Effects {
        var effects = removeKept(id, leaving: leaving)
        guard let fetch = fetches[id], fetch.isActive, !fetch.awaitsEnd else { return effects }
        let remaining = readers.takers(of: id).count - (leaving == nil ? 0 : 1)
        // A fetch extended to whole blocks is short, so it may run to its end. Otherwise, requests for single bytes
        // would each leave a file of their own.
        let endsSoon =
            fetch.isExtendedToBlocks && fetch.isStoring && fetch.phase == .receiving && mayFinishWithoutReader
        guard remaining <= 0, !endsSoon else { return effects }
        if let heir = heir(to: fetch) {
            readers[heir]?.fetch = id
        } else if !isNeeded(fetch, leaving: leaving) {
            fetches[id]?.enter(.released)
            effects.cancelled.append(id)
        }
        return effects
    }

    /// Whether a fetch may run to its end without a reader. Few may do so at once, because each uses a connection to
    /// the origin.
    private var mayFinishWithoutReader: Bool {
        let taken = readers.taken
        return fetches.values.count { $0.isActive && $0.isExtendedToBlocks && !taken.contains($0.id) }
            <= FetchState.mostLeft
    }

    /// Returns a reader that is reading sealed bytes now and will reach bytes that the fetch still owes.
    ///
    /// There is one only if the origin does not support ranges, because a new request to it would bring everything
    /// again.
    private func heir(to fetch: FetchState) -> ReaderState.ID? {
        guard known.information?.supportsRanges == false, !fetch.isSeparate else { return nil }
        return readers.values.first { $0.fetch == nil && readers.isCurrent($0) && fetch.owes($0) }?.id
    }

    /// Removes a fetch that was kept for its readers, once they have taken its bytes or left.
    mutating func removeKept(_ id: FetchState.ID, leaving: ReaderState? = nil) -> Effects {
        guard let fetch = fetches[id], fetch.phase == .keptForReaders, !readers.isWanted(fetch, leaving: leaving)
        else { return Effects() }
        return remove(id)
    }

    /// Ends fetches that were continuing only for a reader that has left.
    mutating func releaseUnneeded() -> Effects {
        guard known.isBound else { return Effects() }
        let taken = readers.taken
        return fetches.letGo(
            fetches.values.filter {
                $0.isActive && !$0.isSeparate && !taken.contains($0.id) && !isNeeded($0, leaving: nil)
            })
    }

    /// Returns whether a fetch must continue after its last reader has left.
    ///
    /// It must if another reader will need its bytes and no other fetch may bring them.
    func isNeeded(_ fetch: FetchState, leaving: ReaderState?) -> Bool {
        guard known.isBound, !fetch.isSeparate else { return false }
        let needs = { (reader: ReaderState) in readers.isCurrent(reader) && fetch.owes(reader) }
        // The leaving reader is still in the table, so subtract it if it would need the bytes.
        return readers.values.count(where: needs) > (leaving.map(needs) ?? false ? 1 : 0)
    }
}
