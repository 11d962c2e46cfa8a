// Package remote reads files by range requests over HTTP, for data that lie on a server or in an object store. Set
// dataset.Options.OpenURL to Options.OpenURL, and give addresses in place of paths.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options sets how files are read. The zero value has the defaults.
type Options struct {
	// Client sends the requests. nil: http.DefaultClient.
	Client *http.Client
	// Header is sent with each request, Authorization for example.
	Header http.Header
	// Retries is how often a read tries again after a failed connection, a cut answer, or a status 408, 429 or 5xx. 0: 5;
	// negative: never.
	Retries int
	// Backoff is the wait before the first retry. Each further wait is twice as long. 0: 100 ms.
	Backoff time.Duration
	// Timeout ends a request that takes longer, which is then tried again. 0: one minute.
	Timeout time.Duration
}

const (
	blockBytes = 2 << 20 // what a small read asks for
	mostBlocks = 8       // that are held
)

// File is a file on a server, and an io.ReaderAt. Several goroutines may use it.
type File struct {
	options  Options
	address  string
	size     int64
	tag      string // ETag
	modified string // Last-Modified

	lock   chan struct{} // of blocks, which has one place
	blocks []block       // the one used last is the last
}

// block is a part of the file.
type block struct {
	at   int64
	data []byte
}

// OpenURL opens a file, for dataset.Options.OpenURL. It returns a *File with its size (bytes).
func (o Options) OpenURL(ctx context.Context, address string) (io.ReaderAt, int64, error) {
	f, err := Open(ctx, address, o)
	if err != nil {
		return nil, 0, err
	}
	return f, f.size, nil
}

// Open opens a file by a first range request. The server must answer with 206 Partial Content. ctx ends the opening alone. Errors
// do not show the query and the password of the address.
func Open(ctx context.Context, address string, o Options) (*File, error) {
	o.Client, o.Retries = cmp.Or(o.Client, http.DefaultClient), cmp.Or(o.Retries, 5)
	o.Backoff, o.Timeout = cmp.Or(o.Backoff, 100*time.Millisecond), cmp.Or(o.Timeout, time.Minute)
	f := &File{options: o, address: address, size: -1, lock: make(chan struct{}, 1)}
	head := make([]byte, blockBytes)
	n, err := f.read(ctx, head, 0)
	if err != nil && (f.size < 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	f.blocks = []block{{0, head[:n]}}
	return f, nil
}

// Size is the size of the file (bytes).
func (f *File) Size() int64 { return f.size }

// ReadAt reads len(p) bytes from an offset on.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	return f.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt that ends with ctx. A file that has changed since it was opened is an error.
func (f *File) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("a read at byte %d", off)
	}
	if len(p) > blockBytes/2 {
		return f.read(ctx, p, off)
	}
	for n < len(p) {
		if off+int64(n) >= f.size {
			return n, io.EOF
		}
		b, err := f.block(ctx, (off+int64(n))/blockBytes*blockBytes)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], b.data[off+int64(n)-b.at:])
	}
	return n, nil
}

// block returns the block that begins at a byte.
func (f *File) block(ctx context.Context, at int64) (block, error) {
	select {
	case f.lock <- struct{}{}: // others that want the same block wait for it
		defer func() { <-f.lock }()
	case <-ctx.Done():
		return block{}, ctx.Err()
	}
	for k, b := range f.blocks {
		if b.at == at {
			f.blocks = append(slices.Delete(f.blocks, k, k+1), b)
			return b, nil
		}
	}
	b := block{at, make([]byte, min(blockBytes, f.size-at))}
	if _, err := f.read(ctx, b.data, at); err != nil {
		return b, err
	}
	if len(f.blocks) == mostBlocks {
		f.blocks = slices.Delete(f.blocks, 0, 1)
	}
	f.blocks = append(f.blocks, b)
	return b, nil
}

// lasting is an error that another try does not mend.
type lasting struct{ error }

func (e lasting) Unwrap() error { return e.error }

// read reads from the server. After a failure it goes on from what has come.
func (f *File) read(ctx context.Context, p []byte, off int64) (n int, err error) {
	want := len(p)
	for try := 0; ; try++ {
		if f.size >= 0 {
			p = p[:min(int64(len(p)), max(f.size-off, 0))]
		}
		if n == len(p) {
			break
		}
		var got int
		got, err = f.request(ctx, p[n:], off+int64(n))
		n += got
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return n, ctx.Err()
		case errors.As(err, new(lasting)):
			return n, err
		case try >= f.options.Retries:
			return n, fmt.Errorf("cannot be read from the server, tried %d times: %w", try+1, err)
		}
		select {
		case <-time.After(f.options.Backoff << min(try, 10)):
		case <-ctx.Done():
			return n, ctx.Err()
		}
	}
	if n < want {
		return n, io.EOF
	}
	return n, nil
}

// request asks for a range once, and fills p as far as bytes come.
func (f *File) request(ctx context.Context, p []byte, off int64) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, f.options.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.address, nil)
	if err != nil {
		return 0, lasting{errors.New("is no address that can be asked for")}
	}
	if f.options.Header != nil {
		r.Header = f.options.Header.Clone()
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1))
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := f.options.Client.Do(r)
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // without the address
	}
	if errors.Is(err, io.EOF) { // which is not the end of the file
		err = errors.New("the server closes the connection without an answer")
	}
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if err := f.check(answer, off); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(answer.Body, p[:min(int64(len(p)), f.size-off)])
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("the answer ends early")
	}
	return n, err
}

// checkStatus checks the status of an answer.
func (f *File) checkStatus(answer *http.Response) error {
	opened := f.size >= 0
	switch code := answer.StatusCode; {
	case code == http.StatusPartialContent:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("the server answers %s", answer.Status)
	case code != http.StatusOK && code != http.StatusRequestedRangeNotSatisfiable:
		return lasting{fmt.Errorf("cannot be read: the server answers %s", answer.Status)}
	case opened:
		return f.changed("the server answers " + answer.Status)
	case code == http.StatusRequestedRangeNotSatisfiable, answer.ContentLength == 0:
		return lasting{errors.New("is empty")}
	}
	return lasting{errors.New("lies on a server that gives no ranges (it answers 200 OK in place of 206 Partial Content): " +
		"download the file")}
}

// check checks an answer: its status, its range, and that the file is the one that was opened.
func (f *File) check(answer *http.Response, off int64) error {
	if err := f.checkStatus(answer); err != nil {
		return err
	}
	text := answer.Header.Get("Content-Range")
	span, total, _ := strings.Cut(strings.TrimPrefix(text, "bytes "), "/")
	first, _, _ := strings.Cut(span, "-")
	at, wrong := strconv.ParseInt(first, 10, 64)
	size, bad := strconv.ParseInt(total, 10, 64)
	if wrong == nil && bad == nil && f.size >= 0 {
		if err := f.same(answer, size); err != nil {
			return err
		}
	}
	if wrong != nil || bad != nil || at != off || size <= off {
		return lasting{fmt.Errorf("cannot be read: the server answers with the range %q to a request from byte %d on", text, off)}
	}
	if f.size < 0 {
		f.size, f.tag, f.modified = size, answer.Header.Get("ETag"), answer.Header.Get("Last-Modified")
	}
	return nil
}

// same returns an error if an answer is from another file than the one that was opened.
func (f *File) same(answer *http.Response, size int64) error {
	tag, modified := answer.Header.Get("ETag"), answer.Header.Get("Last-Modified")
	switch {
	case size != f.size:
		return f.changed(fmt.Sprintf("it had %d bytes and has %d", f.size, size))
	case tag != f.tag:
		return f.changed(fmt.Sprintf("its ETag was %s and is %s", f.tag, tag))
	case modified != f.modified:
		return f.changed(fmt.Sprintf("it was modified at %q, and now at %q", f.modified, modified))
	}
	return nil
}

// changed is the error of a file that is another one than when it was opened.
func (f *File) changed(how string) error {
	return lasting{fmt.Errorf("was changed while it was in use (%s): read it again when it is complete", how)}
}
