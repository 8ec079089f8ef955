#!/usr/bin/env bash
# Makes the jar of packages/kotlin of the built library: puts the library where JNA looks for it, compiles, and installs the jar into
# the Maven repository of this folder. Then compiles the programs of tests/kotlin. The tests are compiled too, and `make test-kotlin`
# only runs them.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/versions.bash

library=target/release/libpaddlegate_uniffi.so
generated=packages/kotlin/src/main/generated/paddlegate/internal/paddlegate.kt
case $(uname -m) in
    x86_64) platform=linux-x86-64 ;;
    *) platform=linux-$(uname -m) ;;
esac

grep -q "digest=$(scripts/uniffi-digest.py "$library")" "$generated" || {
    echo "build-kotlin: bindings/uniffi has another interface than $generated: run make generate, and git add it" >&2
    exit 1
}
mkdir -p "target/kotlin/native/$platform"
# The digest is of the symbols, of which the package needs none.
strip -o "target/kotlin/native/$platform/$(basename "$library")" "$library"

maven() { mvn -B -q -Dmaven.repo.local="$TOOLS/m2" "$@"; }
maven -f packages/kotlin/pom.xml -DskipTests install
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
