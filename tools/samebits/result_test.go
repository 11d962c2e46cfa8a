package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// save writes a label file and a model of two tensors, loss (F64, 2) and theta (F32, 1), and reads them back.
func save(t *testing.T, labels, header string, data []byte) (*result, error) {
	t.Helper()
	folder := t.TempDir()
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), data...)
	for name, data := range map[string][]byte{"labels": []byte(labels), "model": file} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return readResult(filepath.Join(folder, "labels"), filepath.Join(folder, "model"))
}

const header = `{"__metadata__":{"version":"1"},"loss":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},` +
	`"theta":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}}`

func TestDifferences(t *testing.T) {
	data := make([]byte, 20)
	binary.LittleEndian.PutUint64(data[8:], 0x3fe0000000000000) // 0.5
	old, err := save(t, "a,b\n", header, data)
	if err != nil {
		t.Fatal(err)
	}
	if old.lastLoss() != "0.5" {
		t.Errorf("last loss %s", old.lastLoss())
	}
	bit := slices.Clone(data)
	bit[0] = 1
	for name, test := range map[string]struct {
		labels, header string
		data           []byte
		want           []string
	}{
		"the same":        {"a,b\n", header, data, nil},
		"another version": {"a,b\n", strings.Replace(header, `"1"`, `"2"`, 1), data, nil},
		"a label":         {"a,c\n", header, data, []string{"labels"}},
		"a bit":           {"a,b\n", header, bit, []string{"tensor loss ("}},
		"a shape":         {"a,b\n", strings.Replace(header, "[1]", "[1,1]", 1), data, []string{"tensor theta ("}},
		"a name":          {"a,b\n", strings.Replace(header, "theta", "rho", 1), data, []string{"rho is new", "theta is gone"}},
	} {
		r, err := save(t, test.labels, test.header, test.data)
		if err != nil {
			t.Fatal(err)
		}
		got := old.differences(r)
		ok := len(got) == len(test.want)
		for i := 0; ok && i < len(got); i++ {
			ok = strings.Contains(got[i], test.want[i])
		}
		if !ok {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestDamagedModels(t *testing.T) {
	for name, h := range map[string]string{
		"no JSON": "{", "no losses": `{}`, "too far": strings.Replace(header, "20]", "21]", 1),
	} {
		if _, err := save(t, "", h, make([]byte, 20)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
