/// When the files of a TLS listener are read anew. A value.
struct TLSRenewal {
    /// The files as they were when what is in use was read.
    private var read: TLSFiles.Stamp
    /// The files as they were when they could not be used, and that was told.
    private var told: TLSFiles.Stamp?
    /// The files as they were at the last look.
    private var seen: TLSFiles.Stamp

    /// - Parameter read: the files as they were before they were first read.
    init(read: TLSFiles.Stamp) {
        self.read = read
        seen = read
    }

    /// Whether the files shall be read now.
    mutating func isDue(_ stamp: TLSFiles.Stamp) -> Bool {
        defer { seen = stamp }
        // Who writes two files has done with both when nothing has changed between two looks.
        return stamp != read && stamp == seen
    }

    /// What was read is in use.
    mutating func succeed(_ stamp: TLSFiles.Stamp) { (read, told) = (stamp, nil) }

    /// What was read cannot be used. It is read again at the next look: what failed may be the reading.
    ///
    /// - Returns: whether that is to be told: once for the same files.
    mutating func fail(_ stamp: TLSFiles.Stamp) -> Bool {
        defer { told = stamp }
        return told != stamp
    }
}
