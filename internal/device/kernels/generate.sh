#!/bin/sh
# Writes the PTX of the kernels, packed, to the folder given or beside the sources. Debian's clang-19 does it, without CUDA's headers
# and libraries. The packed text is committed, so that building needs none of this; CLANG names another compiler.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
clang=${CLANG:-clang++-19}
compile() { # compile ARCH PTX-VERSION TYPE SOURCE
	"$clang" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch="$1" -Xclang -target-feature -Xclang "+ptx$2" \
		-O3 -std=c++17 -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=fast -DREAL="$3" -S -o "$out/$4_$3.ptx" "$4.cu"
	gzip -9nf "$out/$4_$3.ptx"
}
for type in float double; do
	for source in products rows terms stages; do
		compile sm_70 63 $type $source
	done
done
compile sm_70 63 double polar
compile sm_80 70 float tensor
