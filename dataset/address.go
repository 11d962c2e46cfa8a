package dataset

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// isAddress reports whether a path is the address of a file on a server.
func isAddress(path string) bool {
	return strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://")
}

// shownAddress is an address without user, password and query, which may be secret.
func shownAddress(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "?")
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndex(host, "@")+1:] + "/" + path
}

// openAddress opens a file on a server and lists its variables.
func openAddress(address string, as role, o *Options, lim *limits) (*source, error) {
	path := shownAddress(address)
	if o.OpenURL == nil {
		return nil, fileError(path, errors.New("is an address: set Options.OpenURL (package dataset/remote) to read it"))
	}
	r, size, err := o.OpenURL(o.ctx, address)
	if err != nil {
		return nil, fileError(path, err)
	}
	s := &source{path: path, role: as, size: size, close: func() error { return nil }}
	if c, ok := r.(io.Closer); ok {
		s.close = c.Close
	}
	head := make([]byte, 6)
	if _, err = r.ReadAt(head, 0); err == nil && string(head) != "\x93NUMPY" && !bytes.HasPrefix(head, []byte(parquetMagic)) {
		err = errors.New("is not .npy or .parquet, which alone are read from a server: download it")
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = s.list(r, o, lim)
	}
	if err != nil {
		return nil, errors.Join(named(path, err), s.close())
	}
	return s, nil
}
