package score

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJudgements(t *testing.T) {
	for j, want := range map[Judgement]string{
		StructureUnknown: "unknown", StructureNone: "none", StructureWeak: "weak", StructureClear: "clear",
	} {
		text, err := json.Marshal(j)
		var again Judgement
		if err != nil || string(text) != `"`+want+`"` || json.Unmarshal(text, &again) != nil || again != j {
			t.Errorf("%v is %s, read as %v, %v", j, text, again, err)
		}
	}
	var j Judgement
	if err := json.Unmarshal([]byte(`"good"`), &j); err == nil || !strings.Contains(err.Error(), `unknown judgement "good"`) {
		t.Error(err)
	}
	if s := Judgement(7).String(); s != "unknown (7)" {
		t.Error(s)
	}
	for j, want := range map[Judgement]string{
		StructureUnknown: "not judged (docs/trust.md",
		StructureNone:    "none: clusters as good come out of noise (stability 0.50, of noise 0.25;",
		StructureWeak:    "weak: better",
		StructureClear:   "clear (stability 0.50, of noise 0.25; density between clusters 1.00, of noise 2.00)",
	} {
		s := Structure{Judgement: j, Stability: 0.5, NullStability: 0.25, Border: 1, NullBorder: 2}
		if got := s.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		s.Agreement, s.NullAgreement = -0.003, 0.02
		if got := s.String(); j != StructureUnknown && !strings.HasSuffix(got, "; agreement of views 0.00, of noise 0.02)") {
			t.Errorf("two views: %q", got)
		}
	}
}
