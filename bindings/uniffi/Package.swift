// swift-tools-version:5.9
// Copied by scripts/generate-swift.sh beside the generated sources. Generated, not tested here.
import PackageDescription

let package = Package(
    name: "PaddlegateNative",
    products: [.library(name: "PaddlegateNative", targets: ["PaddlegateNative"])],
    targets: [
        .target(name: "PaddlegateFFI", linkerSettings: [.linkedLibrary("paddlegate_uniffi")]),
        .target(name: "PaddlegateNative", dependencies: ["PaddlegateFFI"]),
    ]
)
