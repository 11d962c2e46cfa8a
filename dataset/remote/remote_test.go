package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/parquet"
	"github.com/largemvc/largemvc/dataset/views"
)

const rows, cols = 900, 400 // more than a block

// matrix is an array of rows·cols numbers as .npy.
func matrix(t *testing.T) ([]float32, []byte) {
	t.Helper()
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(i%97) + float32(i/cols%3*50)
	}
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	out, err := binary.Append(append(out, header...), binary.LittleEndian, x)
	if err != nil {
		t.Fatal(err)
	}
	return x, out
}

// server serves a file. before, if not nil, sees each request and reports whether it has answered.
func server(t *testing.T, content []byte, before func(k int64, w http.ResponseWriter, r *http.Request) bool) (url string) {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if before != nil && before(requests.Add(1)-1, w, r) {
			return
		}
		http.ServeContent(w, r, "x", time.Unix(1e9, 0), bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// quick retries without long waits.
var quick = Options{Retries: 3, Backoff: time.Millisecond}

// openRows opens a file on a server row by row.
func openRows(url string, o Options) (*dataset.RowSet, error) {
	return dataset.OpenRows(context.Background(), []string{url}, dataset.Options{OpenURL: o.OpenURL})
}

// TestRows: .npy and Parquet on a server have the rows of the file, though every second request fails.
func TestRows(t *testing.T) {
	x, npy := matrix(t)
	var table bytes.Buffer
	columns := make([]dataset.Column, 5)
	for j := range columns {
		numbers := make([]float64, rows)
		for i := range numbers {
			numbers[i] = float64(x[i*cols+j]) + 0.5
		}
		columns[j] = dataset.Column{Name: fmt.Sprint("c", j), Data: numbers}
	}
	if err := parquet.Encode(&table, columns...); err != nil {
		t.Fatal(err)
	}
	flaky := func(k int64, w http.ResponseWriter, r *http.Request) bool {
		switch k % 4 {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3: // a connection that is cut
			first, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Range"), "bytes="), "-")
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %s-%d/%d", first, len(npy)-1, len(npy)))
			w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusPartialContent)
			var at int
			_, _ = fmt.Sscan(first, &at)
			_, _ = w.Write(npy[at:min(at+500, len(npy))])
		default:
			return false
		}
		return true
	}
	for name, url := range map[string]string{
		"good": server(t, npy, nil) + "/x.npy?signature=secret", "flaky": server(t, npy, flaky) + "/x.npy",
		"parquet": server(t, table.Bytes(), nil) + "/x.parquet",
	} {
		set, err := openRows(url, quick)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		v := set.Views[0]
		n, d := v.Dims()
		want := x
		if name == "parquet" {
			want = nil
			for i := range n {
				for j := range d {
					want = append(want, x[i*cols+j]+0.5)
				}
			}
		}
		got := make([]float32, n*d)
		for at := 0; at < n; at += 150 {
			if err := v.ReadRows(context.Background(), at, got[at*d:(at+150)*d]); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if v.Name != "x" || n != rows || !slices.Equal(got, want) || strings.Contains(set.Reading.String(), "secret") {
			t.Errorf("%s: other values than in the file: %v", name, &set.Reading)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestErrors: what a server cannot give, and a file that changes, are errors that say so.
func TestErrors(t *testing.T) {
	_, npy := matrix(t)
	status := func(code int) func(int64, http.ResponseWriter, *http.Request) bool {
		return func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			return true
		}
	}
	bad := func(span string) func(int64, http.ResponseWriter, *http.Request) bool {
		return func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Range", span)
			w.WriteHeader(http.StatusPartialContent)
			return true
		}
	}
	whole := func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(npy)
		return true
	}
	closes := func(int64, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	for want, url := range map[string]string{
		"closes the connection":          server(t, npy, closes),
		"gives no ranges":                server(t, npy, whole),
		"answers 404 Not Found":          server(t, npy, status(404)),
		"tried 4 times: the server":      server(t, npy, status(500)),
		"is empty":                       server(t, nil, nil),
		"the range \"bytes 5-9/10\"":     server(t, npy, bad("bytes 5-9/10")),
		"the range \"bytes 0-9/*\"":      server(t, npy, bad("bytes 0-9/*")),
		"the range \"\"":                 server(t, npy, bad("")),
		"cannot be read from the server": "http://127.0.0.1:1",
		"is no address":                  "http://%zz",
		"which alone are read":           server(t, []byte("a,b\n1,2\n3,4\n"), nil),
		"but holds 360000":               server(t, npy[:rows*cols], nil),
	} {
		set, err := openRows(url+"/x.npy", quick)
		if err == nil {
			v := set.Views[0]
			err = v.ReadRows(context.Background(), rows-1, make([]float32, cols))
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/x.npy") {
			t.Errorf("error %v, want %q and the address", err, want)
		}
	}
	if _, err := dataset.Open(context.Background(), []string{"https://a/x.npy"}, dataset.Options{}); err == nil ||
		!strings.Contains(err.Error(), "set Options.OpenURL") {
		t.Error(err)
	}
	for want, change := range map[string]func(w http.ResponseWriter){
		"its ETag was":   func(w http.ResponseWriter) { w.Header().Set("ETag", `"b"`) },
		"answers 200 OK": func(w http.ResponseWriter) { w.WriteHeader(200) },
		"and has 9999999": func(w http.ResponseWriter) {
			w.Header().Set("Content-Range", "bytes 0-1/9999999")
			w.WriteHeader(206)
		},
	} {
		url := server(t, npy, func(k int64, w http.ResponseWriter, r *http.Request) bool {
			if k > 0 {
				r.Header.Set("Range", "bytes=0-1439999")
				change(w)
			}
			return k > 0 && w.Header().Get("ETag") == `"a"`
		})
		set, err := openRows(url, quick)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, rows*cols)
		if err := set.Views[0].ReadRows(context.Background(), 0, x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestCancelled: a fit whose server does not answer any more returns when its context ends.
func TestCancelled(t *testing.T) {
	_, npy := matrix(t)
	ctx, cancel := context.WithCancel(context.Background())
	blocked := make(chan struct{})
	url := server(t, npy, func(k int64, _ http.ResponseWriter, r *http.Request) bool {
		if k > 0 {
			cancel()
			select { // for ever, but for the end of the test
			case <-r.Context().Done():
			case <-blocked:
			}
		}
		return k > 0
	})
	t.Cleanup(func() { close(blocked) })
	set, err := openRows(url+"/x.npy", Options{Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	x, err := views.OfRows(set)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := largemvc.Fit(ctx, x, largemvc.Config{Clusters: 3})
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the fit waits for its server")
	}
}

// TestFile: reads at any place give the bytes of the file, and its end.
func TestFile(t *testing.T) {
	_, npy := matrix(t)
	content := slices.Concat(npy, npy, npy)
	f, err := Open(context.Background(), server(t, content, nil), Options{Header: http.Header{"Authorization": {"x"}}})
	if err != nil || f.Size() != int64(len(content)) {
		t.Fatal(err)
	}
	for _, span := range [][2]int{{0, 10}, {blockBytes - 5, blockBytes + 5}, {len(content) - 7, len(content)},
		{3, 2*blockBytes + 9}} {
		p := make([]byte, span[1]-span[0])
		if n, err := f.ReadAt(p, int64(span[0])); n < len(p) || err != nil && err != io.EOF || !bytes.Equal(p,
			content[span[0]:span[1]]) {
			t.Errorf("%v: %d bytes, %v", span, n, err)
		}
	}
	for _, size := range []int{10, 2 * blockBytes} {
		if n, err := f.ReadAt(make([]byte, size), int64(len(content)-4)); n != 4 || err != io.EOF {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}
