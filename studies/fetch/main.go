// Command fetch gets the public data sets of the studies and compares them with the list sets.json, which has the size and the
// SHA-256 of every file that the results were made from:
//
//	go run -C studies ./fetch -out ~/sets
//	go run -C studies ./fetch -check ~/sets
//
// An address is in the list if the views and the labels of its file are equal to the arrays of the set, entry for entry. The
// file is another (.mat), and has a size and a SHA-256 of its own. Sets without an address in the list have no public address
// that is known.
package main

import (
	"context"
	"crypto/sha256"
	_ "embed" // of the list
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/largemvc/largemvc/studies/internal/work"
)

//go:embed sets.json
var list []byte

// file has what identifies the content of a file.
type file struct {
	Bytes  int64
	SHA256 string
}

// set is a data set: NAME.npz, and the public file of the same arrays if one is known.
type set struct {
	Name string
	file
	Public *struct {
		URL string
		file
	}
}

func main() { work.Main("fetch", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fetch", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "folder that gets NAME.mat of every set with an address; equal files are kept")
	check := flags.String("check", "", "folder whose NAME.npz and NAME.mat are compared with the list; nothing is fetched")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if (*out == "") == (*check == "") || flags.NArg() > 0 {
		return errors.New("give either -out FOLDER or -check FOLDER")
	}
	var sets []set
	if err := json.Unmarshal(list, &sets); err != nil {
		return err
	}
	if *check != "" {
		return compare(sets, *check, stdout)
	}
	return fetch(ctx, sets, *out, stdout)
}

// verify returns an error if the content is not the content of f.
func (f file) verify(content []byte) error {
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); int64(len(content)) != f.Bytes || got != f.SHA256 {
		return fmt.Errorf("%d bytes with SHA-256 %s, want %d bytes with %s", len(content), got, f.Bytes, f.SHA256)
	}
	return nil
}

// fetch writes the public files that the folder lacks. It goes on after an error and returns all of them.
func fetch(ctx context.Context, sets []set, folder string, stdout io.Writer) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	var failed []error
	for _, s := range sets {
		if s.Public == nil {
			fmt.Fprintf(stdout, "%s: no public address known\n", s.Name)
			continue
		}
		path := filepath.Join(folder, s.Name+".mat")
		if old, err := os.ReadFile(path); err == nil && s.Public.verify(old) == nil {
			fmt.Fprintf(stdout, "%s: is there\n", path)
			continue
		}
		content, err := download(ctx, s.Public.URL, s.Public.Bytes)
		if err == nil {
			err = s.Public.verify(content)
		}
		if err == nil {
			err = work.WriteWhole(path, content)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %s: %w", s.Name, s.Public.URL, err))
			continue
		}
		fmt.Fprintf(stdout, "%s: fetched\n", path)
	}
	return errors.Join(failed...)
}

// download returns the content of an address, at most one byte more than size.
func download(ctx context.Context, url string, size int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, size+1))
}

// compare compares the files of a folder with the list. Files that the folder lacks are no error, unless it lacks all.
func compare(sets []set, folder string, stdout io.Writer) error {
	var failed []error
	found := 0
	for _, s := range sets {
		want := map[string]file{s.Name + ".npz": s.file}
		if s.Public != nil {
			want[s.Name+".mat"] = s.Public.file
		}
		for name, f := range want {
			content, err := os.ReadFile(filepath.Join(folder, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			found++
			if err == nil {
				err = f.verify(content)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	if found == 0 {
		return fmt.Errorf("%s has no file of the list", folder)
	}
	fmt.Fprintf(stdout, "%d files compared, %d differ\n", found, len(failed))
	return errors.Join(failed...)
}
