/// Paths as the library wants them: from the root.
enum AbsolutePath {
    /// The absolute form of `path`, which starts in `folder` where it is relative.
    ///
    /// Empty and `.` components go. `..` stays: what it leads to is the file system's to say, where links are.
    static func of(_ path: String, from folder: String) -> String {
        let whole = path.hasPrefix("/") ? path : folder + "/" + path
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}
