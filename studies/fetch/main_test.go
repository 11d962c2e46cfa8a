package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withList makes run read another list.
func withList(t *testing.T, text string) {
	old := list
	t.Cleanup(func() { list = old })
	list = []byte(text)
}

// A file is written if its content is the content of the list, and a wrong one is not.
func TestFetch(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "abc")
	}))
	defer server.Close()
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	public := func(name, path, size, sum string) string {
		return `{"Name": "` + name + `", "Public": {"URL": "` + server.URL + path + `", "Bytes": ` + size + `, "SHA256": "` + sum + `"}}`
	}
	withList(t, "["+strings.Join([]string{
		public("good", "/", "3", abc), public("short", "/", "2", abc), public("changed", "/", "3", abc[1:]+"0"),
		public("none", "/none", "3", abc), `{"Name": "private"}`,
	}, ",")+"]")
	folder := t.TempDir()
	var text bytes.Buffer
	err := run(context.Background(), []string{"-out", folder}, &text, io.Discard)
	for _, want := range []string{"short: ", "changed: ", "none: ", "3 bytes with SHA-256 " + abc, "404"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not have %q", err, want)
		}
	}
	if !strings.Contains(text.String(), "private: no public address known") {
		t.Error(text.String())
	}
	files, _ := os.ReadDir(folder)
	if len(files) != 1 || files[0].Name() != "good.mat" {
		t.Errorf("files %v", files)
	}
	before := requests
	_ = run(context.Background(), []string{"-out", folder}, io.Discard, io.Discard)
	if requests != before+3 {
		t.Errorf("%d requests, want none for the file that is there", requests-before)
	}
	if err := run(context.Background(), []string{"-check", folder}, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "good.mat"), []byte("abd"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), []string{"-check", folder}, io.Discard, io.Discard); err == nil {
		t.Error("no error for a changed file")
	}
	if err := run(context.Background(), []string{"-check", t.TempDir()}, io.Discard, io.Discard); err == nil {
		t.Error("no error for an empty folder")
	}
}

// The list is whole, and agrees with the files that are here.
func TestList(t *testing.T) {
	var sets []set
	if err := json.Unmarshal(list, &sets); err != nil {
		t.Fatal(err)
	}
	last := ""
	for _, s := range sets {
		if s.Name <= last || s.Bytes == 0 || len(s.SHA256) != 64 {
			t.Errorf("%s after %s: %d bytes, SHA-256 %q", s.Name, last, s.Bytes, s.SHA256)
		}
		if p := s.Public; p != nil && (p.Bytes == 0 || len(p.SHA256) != 64 || !strings.HasPrefix(p.URL, "https://")) {
			t.Errorf("%s: %+v", s.Name, p)
		}
		last = s.Name
	}
	for _, name := range []string{"LARGEMVC_DATA", "LARGEMVC_DATA_MORE"} {
		if folder := os.Getenv(name); folder != "" {
			if err := run(context.Background(), []string{"-check", folder}, io.Discard, io.Discard); err != nil {
				t.Error(err)
			}
		}
	}
}
