package largemvc

import (
	"testing"

	"github.com/largemvc/largemvc/internal/cluster"
	"github.com/largemvc/largemvc/internal/prepare"
)

// The enumerations of internal packages have the numbers of the public ones, and Preprocess its names.
func TestInternalEnumerations(t *testing.T) {
	for public, internal := range map[Preprocess]prepare.Kind{
		PerSample: prepare.PerSample, Balanced: prepare.Balanced, ZScore: prepare.ZScore, UnitNorm: prepare.UnitNorm,
		Raw: prepare.Raw, Both: prepare.Both, PresetPreprocess: 0, Both + 1: prepare.Both + 1,
	} {
		if int(public) != int(internal) || public.String() != internal.String() {
			t.Errorf("Preprocess %v is %d, inside %v, %d", public, int(public), internal, int(internal))
		}
	}
	for public, internal := range map[Rotation]prepare.Rotation{
		RotateAuto: prepare.RotateAuto, RotateAlways: prepare.RotateAlways, RotateNever: prepare.RotateNever,
	} {
		if int(public) != int(internal) {
			t.Errorf("Rotation %v is %d, inside %d", public, int(public), int(internal))
		}
	}
	for public, internal := range map[StartMethod]cluster.Method{
		JointKMeans: cluster.Joint, Spectral: cluster.Spectral, PerView: cluster.PerView, ScaledSpectral: cluster.ScaledSpectral,
	} {
		if int(public) != int(internal) {
			t.Errorf("StartMethod %v is %d, inside %d", public, int(public), int(internal))
		}
	}
}
