#!/bin/sh
# Writes the PTX of the kernels, to the folder given or beside the sources. Debian's clang-19 does it, without CUDA's headers
# and libraries. The text is committed, so that building needs none of this; CLANG names another compiler.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
clang=${CLANG:-clang++-19}
compile() { # compile TYPE SOURCE
	"$clang" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx63 \
		-O3 -std=c++17 -Wall -Wextra -Werror \
		-Wno-unused-parameter -ffp-contract=fast -fno-ident -DREAL="$1" -S -o - "$2.cu" | grep -v '^// *Compiler' >"$out/$2_$1.ptx"
}
for type in float double; do
	compile $type products
	compile $type rows
	compile $type terms
	compile $type stages
done
