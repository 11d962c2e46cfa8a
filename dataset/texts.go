package dataset

import "github.com/largemvc/largemvc/internal/textfile"

const (
	stringBytes = 16 // of a string without its characters
	textBytes   = 96 // of an entry in a table of texts without its characters
)

// texts keeps each of the texts that it meets once, and books its memory.
type texts struct {
	lim   *limits
	known map[string]string
}

func newTexts(lim *limits) *texts { return &texts{lim: lim, known: map[string]string{}} }

// one returns the text that is kept for s, as UTF-8.
func (t *texts) one(s []byte) (string, error) {
	if k, ok := t.known[string(s)]; ok {
		return k, nil
	}
	if err := t.lim.Take("texts", textBytes+int64(len(s))); err != nil {
		return "", err
	}
	k := textfile.OrLatin1(s)
	t.known[string(s)] = k
	return k, nil
}
