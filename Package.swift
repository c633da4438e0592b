// swift-tools-version: 6.2
import PackageDescription

/// Every target is built the same way: Swift 6 mode, strict memory safety, warnings are errors.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Tests are built without optimization, whatever the configuration: what they test is optimized, and that takes most of
/// a build's time.
let testSettings = settings + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

/// The commit that `mediavault --version` names, from the script that builds it; nothing but letters, digits and dashes.
let commit = (Context.environment["MEDIAVAULT_COMMIT"] ?? "").filter { character in
    character.isASCII && (character.isLetter || character.isNumber || character == "-")
}

let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")

/// A product that only the service and the command need: without the trait, SwiftPM does not even resolve its package.
func service(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Service"]))
}

let hummingbird = service("Hummingbird", "hummingbird")
let nioCore = service("NIOCore", "swift-nio")
let nioHTTP1 = service("NIOHTTP1", "swift-nio")
let nioEmbedded = service("NIOEmbedded", "swift-nio")
let nioPosix = service("NIOPosix", "swift-nio")
let hummingbirdCore = service("HummingbirdCore", "hummingbird")
let nioSSL = service("NIOSSL", "swift-nio-ssl")
let nioHTTPTypes = service("NIOHTTPTypes", "swift-nio-extras")
let httpTypes = service("HTTPTypes", "swift-http-types")
let logging = service("Logging", "swift-log")
let metrics = service("CoreMetrics", "swift-metrics")
let lifecycle = service("ServiceLifecycle", "swift-service-lifecycle")
let signals = service("UnixSignals", "swift-service-lifecycle")
let arguments = service("ArgumentParser", "swift-argument-parser")
let subprocess = service("Subprocess", "swift-subprocess")
let systemPackage = Target.Dependency.product(
    name: "SystemPackage", package: "swift-system", condition: .when(platforms: [.linux], traits: ["Service"]))

let package = Package(
    name: "MediaVault",
    platforms: [.macOS("26.0")],
    products: [
        .library(name: "MediaVault", targets: ["MediaVault"]),
        .library(name: "MediaVaultTesting", targets: ["MediaVaultTesting"]),
        .executable(name: "mediavault", targets: ["VaultCommand"]),
    ],
    traits: [
        .default(enabledTraits: ["Service"]),
        .trait(name: "Service", description: "The HTTP service and the command: an app takes the library without them"),
    ],
    // `from`, because an app has versions of its own, and `exact` would allow it none but these. The versions that the
    // tests ran with stand in Scripts/requirements/swift.txt; Scripts/run, test and package build with those.
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        // The C libraries, each imported by exactly one target.
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"]), .brew(["libsodium"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        .systemLibrary(name: "CFile"),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CProcess"),
        .target(name: "CRevision", cSettings: [.define("MEDIAVAULT_COMMIT", to: "\"\(commit)\"")]),

        // Lowest first: a target imports only what stands above it.
        .target(name: "VaultModel", dependencies: ["CZlib"], swiftSettings: settings),
        .target(name: "VaultManifest", dependencies: ["VaultModel"], swiftSettings: settings),
        .target(name: "VaultCrypto", dependencies: ["CSodium", "VaultModel"], swiftSettings: settings),
        .target(
            name: "VaultStorage", dependencies: ["CFile", "VaultCrypto", "VaultModel", grdb, sqlite],
            swiftSettings: settings),
        .target(name: "VaultFetch", dependencies: ["CCurl", "VaultModel"], swiftSettings: settings),
        .target(
            name: "VaultCache",
            dependencies: ["VaultModel", "VaultManifest", "VaultCrypto", "VaultStorage", "VaultFetch", deque],
            swiftSettings: settings),
        .target(
            name: "MediaVault",
            dependencies: ["VaultCache", "VaultModel", "VaultManifest", "VaultCrypto", "VaultStorage", "VaultFetch"],
            swiftSettings: settings),
        .target(
            name: "VaultService",
            dependencies: [
                "MediaVault", "VaultModel", hummingbird, hummingbirdCore, nioCore, nioHTTP1, nioHTTPTypes,
                nioPosix, nioSSL, httpTypes, logging, metrics, lifecycle, signals, subprocess, systemPackage,
            ],
            // In the code, because the installed command is one file and must not look for a bundle.
            resources: [.embedInCode("OpenAPI/openapi.json"), .embedInCode("Pages")], swiftSettings: settings),
        .executableTarget(
            name: "VaultCommand",
            dependencies: ["CProcess", "CRevision", "MediaVault", "VaultModel", "VaultService", arguments, logging],
            swiftSettings: settings),

        // The origin that tests talk to, theirs and an app's.
        .target(name: "OriginServer", dependencies: ["VaultModel"], swiftSettings: settings),
        // What an app's tests take: the checks of a transport of its own.
        .target(name: "MediaVaultTesting", dependencies: ["OriginServer", "VaultModel"], swiftSettings: settings),

        // Test support is no product: seeded numbers, lying origins, simulated disks.
        .target(name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: settings),
        .target(
            name: "OriginTestSupport", dependencies: ["OriginServer", "SeededRandom", "VaultModel"],
            path: "Tests/OriginTestSupport", swiftSettings: settings),
        .target(
            name: "CSimulatedDisk", path: "Tests/CSimulatedDisk", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "VaultTestSupport",
            dependencies: ["CSimulatedDisk", "SeededRandom", "VaultModel", "VaultCrypto", "VaultStorage"],
            path: "Tests/VaultTestSupport", swiftSettings: settings),
        .executableTarget(
            name: "open-held-ranges",
            dependencies: ["CSodium", "MediaVault", "VaultCrypto", "VaultModel", "VaultStorage"],
            path: "Tests/Benchmarks/OpenHeldRanges", swiftSettings: settings),
        .executableTarget(
            name: "reseal-held-title",
            dependencies: ["CSodium", "MediaVault", "VaultCrypto", "VaultModel", "VaultStorage", "VaultTestSupport"],
            path: "Tests/Benchmarks/Reseal", swiftSettings: settings),
        .executableTarget(
            name: "rewrap-keys",
            dependencies: ["MediaVault", "VaultCrypto", "VaultModel", "VaultStorage", "VaultTestSupport"],
            path: "Tests/Benchmarks/RewrapKeys", swiftSettings: settings),
        .executableTarget(
            name: "rewrite-playlist", dependencies: ["VaultManifest", "VaultModel", "VaultTestSupport"],
            path: "Tests/Benchmarks/RewritePlaylist", swiftSettings: settings),
        .testTarget(
            name: "VaultModelTests", dependencies: ["SeededRandom", "VaultModel"], swiftSettings: testSettings),
        .testTarget(
            name: "VaultManifestTests", dependencies: ["SeededRandom", "VaultManifest", "VaultModel"],
            resources: [.copy("Corpus")], swiftSettings: testSettings),
        .testTarget(
            name: "VaultCryptoTests", dependencies: ["SeededRandom", "VaultCrypto", "VaultModel"],
            resources: [.copy("Vectors")], swiftSettings: testSettings),
        .testTarget(
            name: "VaultStorageTests",
            dependencies: [
                "SeededRandom", "VaultStorage", "VaultCrypto", "VaultModel", "VaultTestSupport", grdb, sqlite,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultFetchTests",
            dependencies: ["CCurl", "SeededRandom", "VaultFetch", "VaultModel", "OriginTestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultCacheTests",
            dependencies: [
                "SeededRandom", "VaultCache", "VaultFetch", "VaultModel", "VaultStorage", "VaultTestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "MediaVaultTests",
            dependencies: [
                "CSodium", "MediaVault", "SeededRandom", "VaultCache", "VaultStorage", "VaultCrypto", "VaultFetch",
                "VaultModel", "OriginTestSupport", "VaultTestSupport", grdb,
            ],
            resources: [.copy("GoldenVault"), .copy("GoldenVault6")], swiftSettings: testSettings),
        .testTarget(
            name: "VaultServiceTests",
            dependencies: [
                "VaultService", "MediaVault", "VaultModel", "OriginTestSupport", "VaultTestSupport", hummingbird,
                httpTypes, logging, metrics, nioCore, nioEmbedded, nioHTTP1, nioHTTPTypes, nioPosix, nioSSL,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultCommandTests",
            dependencies: [
                "SeededRandom", "VaultCommand", "VaultService", "MediaVault", "OriginTestSupport", "VaultTestSupport",
                arguments,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "MediaVaultTestingTests", dependencies: ["MediaVaultTesting", "VaultFetch", "VaultModel"],
            swiftSettings: testSettings),
        .testTarget(name: "ArchitectureTests", swiftSettings: testSettings),
    ]
)
