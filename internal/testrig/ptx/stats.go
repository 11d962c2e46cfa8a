package ptx

// Stats counts what a launch did.
type Stats struct {
	Instructions     int64 // executed, by thread
	WarpInstructions int64 // executed, by warp
	Blocks           int64

	GlobalRead, GlobalWritten int64 // bytes, by thread
	GlobalSectors             int64 // pieces of 32 bytes that the accesses of warps touch
	SharedRead, SharedWritten int64 // bytes, by thread
	SharedWavefronts          int64 // passes through the banks of shared memory
	SharedConflicts           int64 // those of them that are due to lanes that want different words of one bank

	Float32, Float64, Tensor int64 // operations; a fused multiply-add counts two
}

func (s *Stats) add(t *Stats) {
	s.Instructions += t.Instructions
	s.WarpInstructions += t.WarpInstructions
	s.Blocks += t.Blocks
	s.GlobalRead += t.GlobalRead
	s.GlobalWritten += t.GlobalWritten
	s.GlobalSectors += t.GlobalSectors
	s.SharedRead += t.SharedRead
	s.SharedWritten += t.SharedWritten
	s.SharedWavefronts += t.SharedWavefronts
	s.SharedConflicts += t.SharedConflicts
	s.Float32 += t.Float32
	s.Float64 += t.Float64
	s.Tensor += t.Tensor
}
