/// Numbers of bytes as people read them: `999 B`, `12.3 MB`; powers of ten.
enum ByteCount {
    static func text(_ count: Int64) -> String {
        guard count >= 1000 else { return "\(count) B" }
        var unit: Int64 = 1000
        var names = ["kB", "MB", "GB", "TB", "PB", "EB"][...]
        while names.count > 1, count / 1000 >= unit {
            unit *= 1000
            names.removeFirst()
        }
        let tenths = count / (unit / 10)
        return "\(tenths / 10).\(tenths % 10) \(names[names.startIndex])"
    }
}
