/// When the files of a TLS listener are read anew. A value.
struct TLSRenewal {
    /// The files as they were when they were last read, whatever came of it.
    private var read: TLSFiles.Stamp
    /// The files as they were at the last look.
    private var seen: TLSFiles.Stamp

    /// - Parameter read: the files as they were before they were first read.
    init(read: TLSFiles.Stamp) {
        self.read = read
        seen = read
    }

    /// Whether the files shall be read now. Whoever is told so does.
    mutating func isDue(_ stamp: TLSFiles.Stamp) -> Bool {
        defer { seen = stamp }
        // Who writes two files has done with both when nothing has changed between two looks.
        guard stamp != read, stamp == seen else { return false }
        read = stamp
        return true
    }
}
