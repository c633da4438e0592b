// swift-tools-version: 6.2
import PackageDescription

// An app that takes the library by URL and version, and has versions of GRDB and NIO of its own. `check.py` says where
// SwiftPM finds them.
let grdb = Package.Dependency.package(url: "https://github.com/groue/GRDB.swift", exact: "7.999.0")
let nio = Package.Dependency.package(url: "https://github.com/apple/swift-nio", exact: "2.999.0")
let url = "https://mediavault.invalid/MediaVault"

/// Whether the app forgets `traits: []`, and so takes the packages of the service, too.
let takesService = Context.environment["PLAYER_TAKES_SERVICE"] == "1"

let package = Package(
    name: "player",
    platforms: [.macOS("26.0")],
    dependencies: takesService
        ? [.package(url: url, from: "0.1.0"), grdb, nio] : [.package(url: url, from: "0.1.0", traits: []), grdb],
    targets: [
        .executableTarget(
            name: "player",
            dependencies: [
                .product(name: "MediaVault", package: "MediaVault"), .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .testTarget(
            name: "playerTests",
            dependencies: [
                .product(name: "MediaVault", package: "MediaVault"),
                .product(name: "MediaVaultTesting", package: "MediaVault"),
            ]),
    ]
)
