/// Absolute paths, as the library requires them.
enum AbsolutePath {
    /// Returns the absolute form of `path`, which starts in `folder` if it is relative.
    ///
    /// Removes empty and `.` components. Keeps `..`, because only the file system can resolve it across symbolic links.
    static func of(_ path: String, from folder: String) -> String {
        let whole = path.hasPrefix("/") ? path : folder + "/" + path
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}
