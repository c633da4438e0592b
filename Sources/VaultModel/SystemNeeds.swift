/// The system limits below which the command does not start.
///
/// A shortage would be fatal. If a descriptor or a page of memory is missing, the runtime and the system's libraries
/// end the process; if a thread cannot be started, they wait for it forever. The figures are measured, plus a margin.
package struct SystemNeeds: Sendable {
    /// The number of bytes of address space and of data besides the stacks: 200 and 90 MB in use, plus working space.
    private static let (addresses, data) = (512 << 20, 256 << 20)
    /// The number of bytes of stack that every thread needs.
    private static let stack = 256 << 10
    /// The number of bytes of stack that each thread gets if the system sets no limit.
    private static let unlimitedStack = 2 << 20
    /// The number of bytes of address space that the allocator reserves for each arena.
    private static let arena = 128 << 20

    /// The number of processors, on which the number of threads depends.
    let processors: Int
    /// The number of bytes of stack that the system gives to each thread.
    let threadStack: Int

    /// Creates the needs of this process.
    ///
    /// - Parameters:
    ///   - processors: the number of processors.
    ///   - stack: the limit on the stack; nil if it is unknown.
    package init(processors: Int, stack: Int?) {
        self.processors = processors
        threadStack = stack.flatMap { $0 == .max ? nil : $0 } ?? Self.unlimitedStack
    }

    /// Returns the lowest value of a limit with which the command starts.
    package func least(_ limit: SystemLimit) -> Int {
        switch limit {
        case .files: DescriptorShares.least
        case .addresses: Self.addresses + stacks
        case .data: Self.data + stacks
        case .stack: Self.stack
        case .threads: threads
        }
    }

    /// The number of threads for blocking calls and for origins, and those that the libraries start for each processor.
    private var threads: Int { max(32, processors) + 12 + 3 * processors }

    /// The total size of all threads' stacks, in bytes.
    private var stacks: Int {
        let (bytes, isTooMuch) = threads.multipliedReportingOverflow(by: threadStack)
        return isTooMuch ? .max / 2 : bytes
    }

    /// Returns the error for a limit that is too low; nil if the limit suffices.
    ///
    /// - Parameter number: the limit; for threads, the number that this process itself may have.
    package func refusal(_ limit: SystemLimit, of number: Int) -> VaultError? {
        let least = least(limit)
        guard number < least else { return nil }
        let (number, needed) = (UInt64(max(0, number)), UInt64(least))
        let sentence =
            switch limit {
            case .files:
                "the system lets this process open only \(number) files, but it needs \(needed); raise the limit "
                    + "(LimitNOFILE= of a unit, ulimit -n)"
            case .addresses:
                "the system lets this process use only \(Self.size(number)) of addresses, but it needs "
                    + "\(Self.size(needed)); raise the limit (LimitAS= of a unit, ulimit -v)"
            case .data:
                "the system lets this process have only \(Self.size(number)) of data, but it needs "
                    + "\(Self.size(needed)); raise the limit (LimitDATA= of a unit, ulimit -d)"
            case .stack:
                "the system gives this process only \(Self.size(number)) of stack, but it needs "
                    + "\(Self.size(needed)); raise the limit (LimitSTACK= of a unit, ulimit -s)"
            case .threads:
                "the system lets this process use only \(number) threads beside what its user or its unit runs, but it "
                    + "needs \(needed); end some of that, or raise the limit (LimitNPROC= or TasksMax= of a unit, "
                    + "ulimit -u)"
            }
        return VaultError(.storage, sentence)
    }

    private static func size(_ bytes: UInt64) -> String { "\(bytes / 1024) KiB" }

    /// Returns the number of arenas that the allocator may have under a limit on address space; nil if it may choose.
    ///
    /// The allocator reserves an arena for almost every thread, which is many times what the process uses.
    package func arenas(underAddresses number: Int) -> Int? {
        let room = max(1, (number - least(.addresses)) / Self.arena)
        return room < 8 * processors ? room : nil
    }
}
