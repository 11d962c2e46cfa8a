// Package progress shows on one line how far a task is.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// Bar shows the progress of a task of a known number of steps. On a terminal it is one line that is drawn over and over;
// elsewhere it is a plain line for every tenth of the steps. It is not safe for concurrent use.
//
//	epoch [############............]  50/100  loss 0.8123  1.2s, 1.2s left
//
// The Bar has no clock: the caller says how much time has passed.
type Bar struct {
	w        io.Writer
	terminal bool
	name     string
	shown    int           // runes on the line
	last     time.Duration // when the line was drawn
	tenth    int           // of the last plain line
	said     time.Duration // when a plain note was written
	total    int
	open     bool // the line on the terminal is not ended
}

const (
	barWidth  = 24
	lineWidth = 79 // of a terminal of 80 columns
	redraw    = 100 * time.Millisecond
	sayAgain  = 10 * time.Second
)

// New returns a bar on w, for steps that are called name.
func New(w io.Writer, name string) *Bar {
	return &Bar{w: w, terminal: Terminal(w), name: name}
}

// Terminal says whether w is a character device, which a terminal is and a file or a pipe is not.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Show says that done of total steps are done after the given time; note is added to the line. A smaller done than in the
// call before starts over. The time left is computed from the steps.
func (b *Bar) Show(done, total int, note string, elapsed time.Duration) {
	b.ShowLeft(done, total, note, elapsed, 0)
}

// ShowLeft is Show with the time left, where it is known better.
func (b *Bar) ShowLeft(done, total int, note string, elapsed, left time.Duration) {
	if total < 1 {
		return
	}
	if b.terminal {
		if b.open && done < total && elapsed-b.last < redraw && elapsed >= b.last {
			return
		}
		b.last = elapsed
		b.draw(done, total, note, elapsed, left)
		return
	}
	tenth := 10 * done / total
	if total != b.total || tenth < b.tenth {
		b.total, b.tenth = total, 0
	}
	if tenth > b.tenth || done == 1 {
		b.tenth = tenth
		fmt.Fprintf(b.w, "%s %d/%d  %s  %s\n", b.name, done, total, note, times(done, total, elapsed, left))
	}
}

// Phase shows the steps done of a phase of a longer work, and the time that the whole work has still to take, if that
// is known: on a terminal on one line that is drawn over and over, elsewhere as a plain line, every ten seconds. elapsed is the
// time since the work began.
func (b *Bar) Phase(name string, done, total int, elapsed, left time.Duration) {
	if total < 1 || elapsed < time.Second {
		return
	}
	text := round(elapsed)
	if left >= time.Second {
		text += ", about " + round(left.Round(time.Second)) + " left"
	}
	switch {
	case b.terminal && (!b.open || elapsed-b.last >= redraw || elapsed < b.last):
		b.last = elapsed
		full := min(barWidth*done/total, barWidth)
		b.line(fmt.Sprintf("%s [%s%s]  %s", name, strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text))
	case !b.terminal && elapsed-b.said >= sayAgain:
		b.said = elapsed
		fmt.Fprintf(b.w, "%s %d %%  %s\n", name, 100*done/total, text)
	}
}

// Say shows a note on work whose end is not known, from its second second on: on a terminal on one line that is drawn over and
// over, elsewhere as a plain line every ten seconds.
func (b *Bar) Say(note string, elapsed time.Duration) {
	switch {
	case elapsed < time.Second:
	case b.terminal && (!b.open || elapsed-b.last >= redraw || elapsed < b.last):
		b.last = elapsed
		b.line(note + "  " + round(elapsed))
	case !b.terminal && elapsed-b.said >= sayAgain:
		b.said = elapsed
		fmt.Fprintf(b.w, "%s  %s\n", note, round(elapsed))
	}
}

func (b *Bar) draw(done, total int, note string, elapsed, left time.Duration) {
	rest := fmt.Sprintf("%*d/%d  %s  %s", len(fmt.Sprint(total)), done, total, note, times(done, total, elapsed, left))
	width := min(barWidth, max(4, lineWidth-len("  []")-utf8.RuneCountInString(b.name+rest)))
	full := min(width*done/total, width)
	b.line(fmt.Sprintf("%s [%s%s] %s", b.name, strings.Repeat("#", full), strings.Repeat(".", width-full), rest))
}

// line draws over the line of a terminal, which a longer text would make two.
func (b *Bar) line(line string) {
	if r := []rune(line); len(r) > lineWidth {
		line = string(r[:lineWidth])
	}
	n := utf8.RuneCountInString(line)
	fmt.Fprintf(b.w, "\r%s%s", line, strings.Repeat(" ", max(b.shown-n, 0)))
	b.shown, b.open = n, true
}

// times says how long it took and how long it will: by left, or if that is 0 by the steps.
func times(done, total int, elapsed, left time.Duration) string {
	s := round(elapsed)
	switch {
	case left > 0:
		s += ", " + round(left) + " left"
	case done > 0 && done < total:
		s += ", " + round(elapsed*time.Duration(total-done)/time.Duration(done)) + " left"
	}
	return s
}

func round(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

// End ends the line on a terminal, so that what is written next has one of its own.
func (b *Bar) End() {
	if b.open {
		fmt.Fprintln(b.w)
		b.open, b.shown = false, 0
	}
}
