package largemvc

import (
	"encoding"
	"encoding/json"
	"flag"
	"testing"

	"github.com/largemvc/largemvc/internal/prepare"
	"github.com/largemvc/largemvc/internal/train"
)

// The kinds of internal/prepare have the numbers and the names of Preprocess.
func TestInternalEnumerations(t *testing.T) {
	for public, internal := range map[Preprocess]prepare.Kind{
		PreprocessSample: prepare.PerSample, PreprocessBalanced: prepare.Balanced, PreprocessZScore: prepare.ZScore,
		PreprocessUnit: prepare.UnitNorm, None: prepare.Raw, PreprocessBoth: prepare.Both, 0: 0,
		PreprocessBoth + 1: prepare.Both + 1, None - 1: prepare.Raw - 1,
	} {
		if int(public) != int(internal) || public.String() != internal.String() {
			t.Errorf("Preprocess %v is %d, inside %v, %d", public, int(public), internal, int(internal))
		}
	}
}

// The statuses of internal/train have the numbers and the names of Status, and there are no others.
func TestInternalStatuses(t *testing.T) {
	statuses := map[Status]train.Status{
		EpochLimit: train.EpochLimit, Converged: train.Converged, Stopped: train.Stopped, Cancelled: train.Cancelled,
		Diverged: train.Diverged,
	}
	for public, internal := range statuses {
		if int(public) != int(internal) || public.String() != internal.String() {
			t.Errorf("Status %v is %d, inside %v, %d", public, int(public), internal, int(internal))
		}
	}
	if len(train.StatusNames) != len(statuses) || len(statusOption.names) != len(statuses) {
		t.Errorf("%d statuses inside, %d names, want %d", len(train.StatusNames), len(statusOption.names), len(statuses))
	}
}

// enumeration is what all of them can do.
type enumeration[E any] interface {
	*E
	encoding.TextUnmarshaler
}

// testText writes the values of an enumeration as text, by themselves, in JSON and for flags, and reads them back. Names must
// differ, and other values are errors.
func testText[E interface {
	~int
	encoding.TextMarshaler
	String() string
}, P enumeration[E]](t *testing.T, values ...E) {
	t.Helper()
	names := map[string]bool{}
	for _, x := range values {
		var byText, byJSON, byFlag E
		text, err := x.MarshalText()
		if err != nil || string(text) != x.String() || names[string(text)] {
			t.Fatalf("%T %d is %q, %v", x, int(x), text, err)
		}
		names[string(text)] = true
		if err := P(&byText).UnmarshalText(text); err != nil || byText != x {
			t.Errorf("%T %q is read as %v, %v", x, text, byText, err)
		}
		quoted, err := json.Marshal(struct{ X E }{x})
		if err != nil {
			t.Fatal(err)
		}
		in := struct{ X E }{}
		if err := json.Unmarshal(quoted, &in); err != nil || in.X != x {
			t.Errorf("%s is read as %v, %v", quoted, in.X, err)
		}
		byJSON = in.X
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.TextVar(P(&byFlag), "x", values[0], "")
		if err := flags.Parse([]string{"-x", string(text)}); err != nil || byFlag != byJSON {
			t.Errorf("the flag %q is read as %v, %v", text, byFlag, err)
		}
	}
	for _, x := range []E{-2, 99} {
		if text, err := x.MarshalText(); err == nil {
			t.Errorf("%T %d is written as %q", x, int(x), text)
		}
	}
	var x E
	if err := P(&x).UnmarshalText([]byte("sometimes")); err == nil || x != 0 {
		t.Errorf("%T: an unknown name is read as %v", x, x)
	}
}

func TestEnumerationsAsText(t *testing.T) {
	testText[Preprocess](t, None, 0, PreprocessSample, PreprocessBalanced, PreprocessZScore, PreprocessUnit, PreprocessBoth)
	testText[Reduction](t, 0, ReductionMean, ReductionRelative)
	testText(t, ReLU, SELU)
	testText(t, EpochLimit, Converged, Stopped, Cancelled, Diverged)
}
