#!/usr/bin/env bash
# Makes the jar of packages/kotlin of the built library: writes the Kotlin side of the library, puts the library where JNA looks for
# it, compiles, and installs the jar into the Maven repository of this folder. Then compiles the programs of tests/kotlin.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/versions.bash

library=target/release/libpaddlegate_uniffi.so
generated=target/kotlin/generated
case $(uname -m) in
    x86_64) platform=linux-x86-64 ;;
    *) platform=linux-$(uname -m) ;;
esac

# A tool that runs once need not be quick.
CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=0 cargo build --quiet -p paddlegate-uniffi-bindgen
rm -rf "$generated" target/kotlin/native
mkdir -p "$generated" "target/kotlin/native/$platform"
target/debug/uniffi-bindgen generate --language kotlin --no-format --out-dir "$generated" "$library"
# The tool reads the symbols, of which the package needs none.
strip -o "target/kotlin/native/$platform/$(basename "$library")" "$library"

maven() { mvn -B -q -Dmaven.repo.local="$TOOLS/m2" -Dmaven.test.skip "$@"; }
maven -f packages/kotlin/pom.xml install
maven -f tests/kotlin/pom.xml compile

# Each program is a command, as those of the other languages are.
mkdir -p target/shared
for program in Worker Holder Client; do
    command=target/shared/kotlin-${program,,}
    # The JVM leaves SIGUSR2, which it takes for itself by default, to the program.
    cat >"$command" <<END
#!/bin/sh
export _JAVA_SR_SIGNUM=50
exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp $PWD/target/kotlin/programs/classes:$(cat target/kotlin/programs/classpath) ${program}Kt "\$@"
END
    chmod +x "$command"
done
