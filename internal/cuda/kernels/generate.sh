#!/bin/sh
# Writes the PTX of the elementwise kernels, to the folder given or beside the sources, as internal/device/kernels/generate.sh does.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
clang=${CLANG:-clang++-19}
for source in binary unary; do
	"$clang" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx63 \
		-O3 -std=c++17 -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off -S -o "$out/$source.ptx" "$source.cu"
	gzip -9nf "$out/$source.ptx"
done
