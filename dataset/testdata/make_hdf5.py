#!/usr/bin/python3
"""Writes the small HDF5 files of this folder (h5py 3.7, numpy 1.24, Debian 12): run it here.

The value of row i, column j of view v is (7*i + 3*j + v) % 50, sparse views keep the values below 10; the label of sample
i is i % 3 + 1. MATLAB files have a user block of 512 bytes, MATLAB_class attributes and reversed axes.
"""
import ctypes

import h5py
import numpy as np

N = 12


def value(v, d, n=N):
    i, j = np.mgrid[:n, :d]
    return ((7 * i + 3 * j + v) % 50).astype("f8")


def labels(n=N):
    return (np.arange(n) % 3 + 1).astype("f8").reshape(n, 1)


def user_block(name):
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Sat Jan  1 00:00:00 2022 HDF5 schema 1.00 ."
    head = head.ljust(116, b" ") + b"\0" * 8 + b"\0\2IM"
    with open(name, "r+b") as f:
        f.write(head.ljust(512, b"\0"))


def put(group, name, a, cls, **kw):
    d = group.create_dataset(name, data=np.ascontiguousarray(a.T), **kw)
    d.attrs["MATLAB_class"] = np.bytes_(cls)
    return d


def put_sparse(group, name, a):
    g = group.create_group(name)
    g.attrs["MATLAB_class"] = np.bytes_("double")
    g.attrs["MATLAB_sparse"] = np.uint64(a.shape[0])
    jc, ir, data = [0], [], []
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            if a[i, j]:
                ir.append(i)
                data.append(a[i, j])
        jc.append(len(ir))
    g["data"], g["ir"], g["jc"] = np.array(data), np.array(ir, "u8"), np.array(jc, "u8")
    return g


def put_cell(f, name, items, column=False):
    refs = np.empty((len(items), 1) if not column else (1, len(items)), h5py.ref_dtype)
    refs.reshape(-1)[:] = [i.ref for i in items]
    d = f.create_dataset(name, data=refs, dtype=h5py.ref_dtype)
    d.attrs["MATLAB_class"] = np.bytes_("cell")


def matlab(name, **kw):
    return h5py.File(name, "w", userblock_size=512, **kw)


# Cells of several classes, full, chunked and sparse, next to variables that are skipped.
with matlab("cell.mat") as f:
    r = f.create_group("#refs#")
    empty = r.create_dataset("a", data=np.array([0, 0], "u8"))
    empty.attrs["MATLAB_class"], empty.attrs["MATLAB_empty"] = np.bytes_("canonical empty"), np.int32(1)
    put_cell(f, "X", [
        put(r, "q", value(0, 5), "double", chunks=(2, 5), compression="gzip", shuffle=True, fletcher32=True),
        put(r, "b", value(1, 4).astype("u1"), "uint8"),
        put_sparse(r, "z", np.where(value(2, 30) < 10, value(2, 30), 0)),
        put(r, "c", value(3, 3).astype("f4"), "single", chunks=(3, 7)),
    ])
    put(f, "gt", labels(), "double")
    note = put(f, "note", np.frombuffer("text".encode("utf-16-le"), "u2").reshape(1, -1), "char")
    note.attrs["MATLAB_int_decode"] = np.int32(2)
    nothing = f.create_dataset("nothing", data=np.array([3, 0], "u8"))
    nothing.attrs["MATLAB_class"], nothing.attrs["MATLAB_empty"] = np.bytes_("double"), np.int32(1)
    f.create_group("options").attrs["MATLAB_class"] = np.bytes_("struct")
user_block("cell.mat")

# d x n views in a V x 1 cell, labels as a cell, an index and NaN: the incomplete convention.
with matlab("incomplete.mat") as f:
    r = f.create_group("#refs#")
    present = np.array([[i % 4 != v for v in range(3)] for i in range(N)])
    xs = [np.where(present[:, [v]], value(v, d), np.nan).T for v, d in enumerate([5, N, 2])]
    put_cell(f, "data", [put(r, f"x{v}", x, "double") for v, x in enumerate(xs)], column=True)
    put_cell(f, "index", [put(r, f"i{v}", np.flatnonzero(present[:, v])[:, None] + 1.0, "double") for v in range(3)])
    put_cell(f, "truelabel", [put(r, f"y{v}", labels(), "double") for v in range(3)])
user_block("incomplete.mat")

# Many members: several symbol table nodes.
with matlab("many.mat") as f:
    r = f.create_group("#refs#")
    put_cell(f, "X", [put(r, f"m{(v * 37) % 100:02d}", value(v, 2), "double") for v in range(24)])
    put(f, "Y", labels(), "double")
user_block("many.mat")

# New object headers, links and layouts, as "latest" writes them.
with h5py.File("latest.h5", "w", libver="latest") as f:
    f["X0"] = value(0, 6).astype("f4")
    f.create_dataset("X1", data=value(1, 5).astype(">i2"), chunks=(5, 2), compression="gzip")
    f.create_dataset("X2", data=value(2, 3).astype("f2"), chunks=(12, 3), compression="gzip", shuffle=True)
    f.create_dataset("X3", data=value(3, 4).astype("i8"), chunks=(5, 3))
    f.create_dataset("X4", data=value(4, 2) > 20)
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)  # space taken at once: chunks without an index
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    f.create_dataset("X5", data=value(5, 5), chunks=(5, 2), dcpl=early)
    f["y"] = labels().ravel().astype("i4")

# More chunks than a page of the fixed array index holds.
with h5py.File("paged.h5", "w", libver="latest") as f:
    f.create_dataset("X0", data=value(0, 100).astype("u1"), chunks=(1, 1))

# Axes without limit in the new format (an extensible array of chunks, a version 2 B-tree), sizes below the largest, dense links.
with h5py.File("unlimited.h5", "w", libver="latest") as f:
    f.create_dataset("X0", data=value(0, 2), chunks=(4, 2), maxshape=(None, 2))
with h5py.File("dense.h5", "w", libver="latest") as f:
    for v in range(12):
        f[f"X{v}"] = value(v, 2)
with h5py.File("growing.h5", "w", libver="latest") as f:
    f.create_dataset("X0", data=value(0, 5).astype("u1"), chunks=(1, 1), maxshape=(None, 8))
    f.create_dataset("X1", data=value(1, 20).astype("u1"), chunks=(3, 1), maxshape=(12, None), compression="gzip")
    f.create_dataset("X2", data=value(2, 3), chunks=(5, 2), maxshape=(None, 3), compression="gzip", shuffle=True, fletcher32=True)
    f.create_dataset("X3", data=value(3, 7).astype("u1"), chunks=(5, 2), maxshape=(20, 30))
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    f.create_dataset("X4", data=value(4, 5).astype("u1"), chunks=(5, 2), maxshape=(15, 7), dcpl=early)
with h5py.File("tree.h5", "w", libver="latest") as f:
    f.create_dataset("X0", data=value(0, 8).astype("u1"), chunks=(1, 1), maxshape=(None, None))
    f.create_dataset("X1", data=value(1, 4), chunks=(5, 3), maxshape=(None, None), compression="gzip")
# Blocks of an extensible array that have pages: most of the array is not written.
with h5py.File("far.h5", "w", libver="latest") as f:
    d = f.create_dataset("X0", shape=(140000, 1), dtype="u1", chunks=(1, 1), maxshape=(None, 1))
    d[3], d[139000], d[133500] = 7, 8, 9
# Chunks that an axis cuts off and that do not go through the filter.
with h5py.File("edges.h5", "w", libver="latest") as f:
    part = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    part.set_chunk((5, 4))
    part.set_deflate(4)
    library = ctypes.CDLL(next(l.split()[-1] for l in open("/proc/self/maps") if "libhdf5_serial.so" in l))
    library.H5Pset_chunk_opts.argtypes = [ctypes.c_int64, ctypes.c_uint]
    library.H5Pset_chunk_opts(part.id, 2)  # H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS, which h5py does not name
    d = h5py.h5d.create(f.id, b"X0", h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((N, 7), (N, 7)), part)
    d.write(h5py.h5s.ALL, h5py.h5s.ALL, value(0, 7).astype("u1"))
# Links and attributes in heaps, over several blocks of both heap and index.
with h5py.File("members.h5", "w", libver="latest") as f:
    for v in range(70):
        f[f"X{v}" if v < 3 else f"text_{v}"] = value(v, 2).astype("u1") if v < 3 else np.uint8(v)
    for k in range(12):
        f["X1"].attrs[f"a{k}"] = np.uint8(k)
    del f["X2"]
    f["X2"] = value(2, 2).T.astype("u1")
    for k in range(12):
        f["X2"].attrs[f"a{k}"] = np.uint8(k)
    f["X2"].attrs["MATLAB_class"] = np.bytes_("uint8")
# Texts of fixed and of variable length; a link that is not followed.
with h5py.File("texts.h5", "w") as f:
    f["X0"], f["labels"] = value(0, 2), [["ant", "b\u00e9e", ""][i % 3] or "cat" for i in range(N)]
    f["id"] = np.array([f"s{i}".encode() for i in range(N)])
    f["raw/X"] = value(1, 2)
    f["X1"] = h5py.SoftLink("/raw/X")

# LZF, and a checksum behind it.
with h5py.File("lzf.h5", "w") as f:
    f.create_dataset("X0", data=value(0, 40), chunks=(12, 40), compression="lzf")



# AnnData and MuData, as their documents say: encoded csr and csc, categories, values with a mask, rows of modalities by obsmap.
def encode(o, kind, **attrs):
    for name, value in {"encoding-type": kind, "encoding-version": "0.1.0", **attrs}.items():
        o.attrs[name] = value
    return o


def put_scipy(group, name, a, kind):
    g = encode(group.create_group(name), kind + "_matrix", shape=np.array(a.shape))
    b = a if kind == "csr" else a.T
    major, minor = np.nonzero(b)
    g["data"], g["indices"] = b[major, minor], minor.astype("i4")
    g["indptr"] = np.searchsorted(major, np.arange(len(b) + 1)).astype("i4")


def put_table(group, name, index, key="_index", **columns):
    order = np.array(list(columns), h5py.string_dtype()) if columns else np.zeros(0)
    g = encode(group.create_group(name), "dataframe", _index=key, **{"column-order": order})
    g[key] = index
    for k, c in columns.items():
        if isinstance(c, tuple):
            g[k + "/" + c[0]], g[k + "/" + c[1]] = c[2:]
        else:
            g[k] = c


def some(v, d, n=N):
    return np.where(value(v, d, n) < 10, value(v, d, n), 0).astype("f4")


cells = [f"c{i}" for i in range(N)]
kinds = ("codes", "categories", np.array([-1 if i == 5 else i % 3 for i in range(N)], "i1"), ["B", "NK", "T"])
with h5py.File("cells.h5ad", "w", libver="latest") as f:
    encode(f, "anndata")
    put_scipy(f, "X", some(0, 6), "csr")
    put_scipy(f, "layers/counts", some(1, 6), "csc")
    f["obsm/X_pca"] = value(2, 3)
    f["obsm/protein"] = value(3, 4)
    put_table(f, "obs", cells, kind=kinds, batch=["ab"[i % 2] for i in range(N)],
              count=("values", "mask", np.arange(N) // 4, np.arange(N) == 7))
    for i in range(9):
        f["obs"].attrs[f"note{i}"] = i
    put_table(f, "var", [f"g{j}" for j in range(6)], key="gene")
    f["uns/x"] = 1
with h5py.File("cells.h5mu", "w", userblock_size=512) as f:
    encode(f, "MuData", axis=0)
    f["other"], f["far"] = h5py.SoftLink("/obs/y"), h5py.ExternalLink("cells.h5ad", "/X")
    f.create_group("mod").attrs["mod-order"] = np.array(["rna", "atac"], h5py.string_dtype())
    for name, v, rows in [("rna", 0, np.arange(N)), ("atac", 1, np.arange(9)[::-1])]:
        m = encode(f.create_group("mod/" + name), "anndata")
        put_scipy(m, "X", some(v, 4 + v)[rows], "csr") if v else m.create_dataset("X", data=value(0, 4))
        put_table(m, "obs", [cells[i] for i in rows], half=[i % 2 for i in rows])
        put_table(m, "var", [f"{name}{j}" for j in range(4 + v)])
        at = np.zeros(N, "u4")
        at[rows] = np.arange(len(rows)) + 1
        f["obsmap/" + name], f["obsm/" + name] = at, at[:, None] > 0
    put_table(f, "obs", cells, y=np.arange(N) % 3)
    put_table(f, "var", ["all"])

# The layout before AnnData 0.7: records, and a sparse matrix with other attributes.
with h5py.File("old.h5ad", "w") as f:
    put_scipy(f, "X", some(0, 6), "csr")
    for name in list(f["X"].attrs):
        del f["X"].attrs[name]
    f["X"].attrs["h5sparse_format"], f["X"].attrs["h5sparse_shape"] = b"csr", np.array([N, 6])
    obs = np.zeros(N, [("seen", "?"), ("index", h5py.string_dtype()), ("depth", "f4")])
    obs["index"] = cells
    f["obs"], f["var"] = obs, np.array([(f"g{j}".encode(), j) for j in range(6)], [("index", "S4"), ("k", "i8")])

# Chunks never written are zero; a chunked dataset with an axis without limit in the old format is read.
with h5py.File("partial.h5", "w") as f:
    d = f.create_dataset("X0", shape=(N, 4), chunks=(3, 2), maxshape=(None, None), dtype="f8")
    d[3:6, :2] = value(0, 2)[3:6]
