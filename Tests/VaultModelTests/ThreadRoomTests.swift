import Testing
import VaultModel

@Suite("How many threads the system lets a process have")
struct ThreadRoomTests {
    private static let machine = "         0          0 4294967295\n"

    /// What a process is, and what else runs.
    private static func files(
        user: Int = 1000, rights: String = "0000000000000000", namespace: String = machine, all: Int = 900,
        groups: [String: String] = [:]
    ) -> [String: String] {
        var files = [
            "/proc/self/status": status(user, threads: 1) + "CapEff:\t\(rights)\n", "/proc/self/uid_map": namespace,
            "/proc/loadavg": "0.20 0.18 0.12 3/\(all) 11206\n", "/proc/7/status": status(user, threads: 1),
            "/proc/8/status": status(1000, threads: 30), "/proc/9/status": status(1001, threads: 400),
            "/proc/10/status": "Name:\ta\nUid:\t1001\t1000\t1000\t1000\nThreads:\t50\n",
        ]
        files.merge(groups) { $1 }
        return files
    }

    private static func status(_ user: Int, threads: Int) -> String {
        "Name:\tmediavault\nUid:\t\(user)\t0\t0\t0\nThreads:\t\(threads)\n"
    }

    private static func room(_ files: [String: String], limit: Int, wanted: Int = 50) -> Int {
        ThreadRoom(text: { files[$0] }, processes: { ["7", "8", "9", "10", "11"] })
            .threads(wanted: wanted, underLimit: limit)
    }

    @Test("All threads of the same user count, by whom the process belongs to, and nobody else's")
    func user() {
        #expect(Self.room(Self.files(), limit: 100) == 70)
        #expect(Self.room(Self.files(), limit: 31) == 1)
        #expect(Self.room(Self.files(), limit: 10) == 1, "it has one itself")
        #expect(Self.room(Self.files(), limit: .max) == .max)
    }

    @Test("Where all threads of the system leave enough, nobody's are counted")
    func enough() {
        let room = ThreadRoom(
            text: { Self.files()[$0] },
            processes: {
                Issue.record("counted")
                return []
            })
        #expect(room.threads(wanted: 50, underLimit: 950) == 50)
        #expect(Self.room(Self.files(), limit: 949) == 919)
    }

    @Test("Root of the machine is not bound, nor is who may pass over limits there")
    func exempt() {
        #expect(Self.room(Self.files(user: 0), limit: 10) == .max)
        for rights in ["0000000000200000", "0000000001000000", "000001ffffffffff"] {
            #expect(Self.room(Self.files(rights: rights), limit: 10) == .max)
        }
        #expect(Self.room(Self.files(rights: "0000000000400000"), limit: 10) == 1)
    }

    @Test("In another user namespace nobody is counted, because the system counts there what cannot be seen")
    func namespaces() {
        let rows: [(String, Int, Int)] = [
            ("0 100000 65536\n", 0, 10), ("0 100000 65536\n", 1000, 10), ("1000 1000 1\n", 1000, 10),
            ("1000 5 1\n0 0 1\n", 1000, 10), ("1000 5 1\n0 0 1\n", 0, .max), ("0 0 1\n", 0, .max),
            ("", 65534, .max), ("0 100000 65536\n", 70_000, .max),
        ]
        for (namespace, user, room) in rows {
            let files = Self.files(user: user, rights: "000001ffffffffff", namespace: namespace)
            #expect(Self.room(files, limit: 10) == room, "\(user) in \(namespace)")
        }
    }

    @Test("Numbers that no system has do not count")
    func numbers() {
        for number in ["-9223372036854775808", "-1", "9223372036854775807", "99999999999999999999"] {
            var files = Self.files(groups: [
                "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/pids.max": number,
                "/sys/fs/cgroup/a/pids.current": number,
            ])
            files["/proc/loadavg"] = "0 0 0 1/\(number) 5"
            files["/proc/9/status"] = "Uid:\t1000\nThreads:\t\(number)\n"
            #expect(Self.room(files, limit: 100) == 69, "\(number)")
        }
    }

    @Test(
        "The fullest of the control groups counts, of either version, and one without a limit does not",
        arguments: [
            (["/sys/fs/cgroup/a/b": ("40", "12")], 29), (["/sys/fs/cgroup/a": ("40", "40")], 1),
            (["/sys/fs/cgroup/a/b": ("max", "12")], Int.max), (["/sys/fs/cgroup": ("20", "1")], 20),
            (["/sys/fs/cgroup/a/b": ("40", "12"), "/sys/fs/cgroup/a": ("30", "20")], 11),
            (["/sys/fs/cgroup/pids/c": ("40", "12")], 29), (["/sys/fs/cgroup/c": ("40", "12")], Int.max),
            (["/sys/fs/cgroup/pids": ("9", "9")], 1),
        ])
    func groups(_ limits: [String: (most: String, used: String)], _ expected: Int) {
        var groups = ["/proc/self/cgroup": "4:memory:/c\n3:cpu,pids:/c\n1:name=systemd:/c\n0::/a/b\n"]
        for (folder, (most, used)) in limits {
            (groups[folder + "/pids.max"], groups[folder + "/pids.current"]) = (most + "\n", used + "\n")
        }
        #expect(Self.room(Self.files(user: 0, groups: groups), limit: .max) == expected)
    }

    @Test("What the system does not say is no limit")
    func unknown() {
        #expect(Self.room([:], limit: 10) == .max)
        for file in Self.files().keys where file != "/proc/8/status" {
            var files = Self.files()
            files[file] = nil
            #expect(Self.room(files, limit: 80) >= 50, "\(file)")
            files[file] = "\u{0}:\n::"
            #expect(Self.room(files, limit: 80) >= 50, "\(file)")
        }
    }
}
