package ptx

// specials are the registers of the machine that a kernel may read, by the number of their kind and for triples the axis.
var specials = map[string]specialKind{
	"%tid.x": tid, "%tid.y": tid + 1, "%tid.z": tid + 2, "%ntid.x": ntid, "%ntid.y": ntid + 1, "%ntid.z": ntid + 2,
	"%ctaid.x": ctaid, "%ctaid.y": ctaid + 1, "%ctaid.z": ctaid + 2,
	"%nctaid.x": nctaid, "%nctaid.y": nctaid + 1, "%nctaid.z": nctaid + 2,
	"%laneid": laneid, "%warpid": warpid, "%nwarpid": nwarpid,
	"%lanemask_eq": maskEqual, "%lanemask_lt": maskLess, "%lanemask_le": maskAtMost,
	"%lanemask_gt": maskMore, "%lanemask_ge": maskAtLeast,
}

type specialKind int

const (
	tid         specialKind = 4 * iota // and the next two: the other axes
	ntid        specialKind = 4 * iota
	ctaid       specialKind = 4 * iota
	nctaid      specialKind = 4 * iota
	laneid      specialKind = 4 * iota
	warpid      specialKind = 4 * iota
	nwarpid     specialKind = 4 * iota
	maskEqual   specialKind = 4 * iota
	maskLess    specialKind = 4 * iota
	maskAtMost  specialKind = 4 * iota
	maskMore    specialKind = 4 * iota
	maskAtLeast specialKind = 4 * iota
)

// A special is such a register and its slot.
type special struct {
	slot, axis int
	kind       specialKind
}

func newSpecial(slot int, name string) special {
	kind := specials[name]
	return special{slot, int(kind & 3), kind &^ 3}
}

// specials fills the registers of the machine for a block.
func (w *warp) specials() {
	k := w.worker
	for _, s := range k.kernel.specials {
		d := &w.r[s.slot]
		for i := range d {
			v := uint32(0)
			switch s.kind {
			case tid:
				v = uint32(w.thread(i)[s.axis])
			case ntid:
				v = uint32(k.launch.Block[s.axis])
			case ctaid:
				v = uint32(k.block[s.axis])
			case nctaid:
				v = uint32(k.launch.Grid[s.axis])
			case laneid:
				v = uint32(i)
			case warpid:
				v = uint32(w.id)
			case nwarpid:
				v = uint32(len(k.warps))
			case maskEqual:
				v = 1 << i
			case maskLess:
				v = 1<<i - 1
			case maskAtMost:
				v = 2<<i - 1
			case maskMore:
				v = -(2 << i)
			case maskAtLeast:
				v = -(1 << i)
			}
			d[i] = uint64(v)
		}
	}
}
