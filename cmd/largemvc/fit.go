package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/internal/progress"
)

// runFit reads the data, fits, writes the labels and prints the report.
func runFit(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, f, err := parseFit(args)
	if done, err := f.asked(err, stdout, aboutFit, aboutData); done || err != nil {
		return err
	}
	if err := o.checkFiles(stdout); err != nil {
		return err
	}
	if o.mpi {
		return runFitMPI(ctx, o, stdout, stderr)
	}
	o.noteCheckpoint()
	defer o.endInTime(ctx, stderr, "largemvc")()
	bar := newBar(stderr, "epoch", o.quiet)
	defer bar.End()
	epochs := max(o.config.WithDefaults().Epochs, 1) // a resumed training may know better
	bar.Show(0, epochs, "reading", 0)
	began := time.Now()
	o.progress = readingProgress(bar, began)
	in, err := read(ctx, o)
	if err != nil {
		return cancelled(ctx, err)
	}
	defer func() { err = in.closing(err) }()
	reading := time.Since(began)
	bar.End()
	if err := o.settle(ctx, in, bar, stderr); err != nil {
		return err
	}
	if err := errors.Join(embeddingFile(o.embedding).checkIDs(in), membershipsFile(o.memberships).checkIDs(in)); err != nil {
		return err
	}
	o.config.Progress = trainingProgress(bar)
	result, ended := train(ctx, o, in)
	bar.End()
	if result == nil {
		return o.endedEarly(ctx, ended)
	}
	result.ClassNames = o.classNames
	warn(stderr, unsaid(result.Notes, in.reading.Warnings))
	if ended != nil {
		o.keepFiles(result, stderr)
	}
	if kept := result.Ran.Storage; kept != "" && !o.quiet {
		fmt.Fprintln(stderr, "largemvc: "+kept)
	}
	trusted, untrusted := o.findTrust(ctx, in, result)
	// Each of these is tried, whatever becomes of the others.
	failed := []error{
		o.writeLabels(stdout, in, result),
		o.output("save").write(stdout, func(w io.Writer) error { _, err := result.WriteTo(w); return err }, result.Save),
		o.writeMatrices(ctx, in, result),
		o.writeConfig(stdout),
		o.findFeatures(ctx, in, result, bar),
		errors.Join(untrusted, writeTrust(stdout, o.output("trust"), in, trusted)),
		o.writePage(ctx, stdout, in, result, trusted, reading, bar),
		o.writeSummary(stdout, stderr, in, result, reading),
		o.unmarked(result),
	}
	if ctx.Err() != nil && ended != nil {
		ended = fmt.Errorf("cancelled after %d of %s; the result is the state after the last "+
			"one", result.Epochs, count(result.Config().Epochs, "epoch"))
	}
	return errors.Join(o.withWritten(errors.Join(failed...)), ended)
}

// withWritten adds to an error the names of the outputs that are written all the same.
func (o *fitOptions) withWritten(err error) error {
	var paths []string
	for _, out := range o.outputs {
		if out.written != "" {
			paths = append(paths, out.written)
		}
	}
	if err == nil || paths == nil {
		return err
	}
	return fmt.Errorf("%w\nwritten all the same: %s", err, strings.Join(paths, ", "))
}

// findTrust returns the trust of -trust. After an interrupt there is still a model to ask.
func (o *fitOptions) findTrust(ctx context.Context, in *input, c *largemvc.Clustering) ([][]float64, error) {
	if o.trust == "" {
		return nil, nil
	}
	trusted, err := c.ViewTrust(context.WithoutCancel(ctx), in.views)
	if err != nil {
		err = fmt.Errorf("no trust in the rows: %w", err)
	}
	return trusted, err
}

// trainingProgress returns what shows the progress of a fit, which begins now.
func trainingProgress(bar *progress.Bar) func(largemvc.Progress) error {
	fitting := time.Now()
	return func(e largemvc.Progress) error {
		if onEpoch != nil {
			onEpoch(0, e)
		}
		if !e.Training() {
			bar.Phase(e.Phase, e.Done, e.Total, time.Since(fitting), e.Left)
			return nil
		}
		note := fmt.Sprintf("loss %.5g", e.Loss-e.NullLoss)
		if e.Restarts > 1 {
			note = fmt.Sprintf("restart %d/%d  %s", e.Restart+1, e.Restarts, note)
		}
		bar.ShowLeft(e.Epoch, e.Epochs, note, e.Elapsed, e.Left)
		return nil
	}
}

// settle completes the configuration by the data. It prints how they were read, after the checks that need no work.
func (o *fitOptions) settle(ctx context.Context, in *input, bar *progress.Bar, stderr io.Writer) error {
	if !o.auto {
		if err := complete(ctx, o, in); err != nil {
			return err
		}
		o.sayReading(stderr, in)
	} else {
		o.sayReading(stderr, in)
		if err := o.chooseClusters(ctx, in, bar); err != nil {
			return cancelled(ctx, err)
		}
		if err := complete(ctx, o, in); err != nil {
			return err
		}
	}
	if o.written = o.config; o.start != carefulWord {
		return nil
	}
	return cancelled(ctx, o.chooseStart(ctx, in, bar))
}

// writeConfig writes -write-config: the settings before -start careful changes them. With -resume it writes the settings of the
// training in the checkpoint.
func (o *fitOptions) writeConfig(stdout io.Writer) error {
	c := o.written
	if o.resume != "" {
		c = o.config
	}
	return o.output("write-config").save(stdout, func(w io.Writer) error { return writeConfig(w, o.flags, c, nil) })
}

// writeMatrices writes -embedding and -memberships.
func (o *fitOptions) writeMatrices(ctx context.Context, in *input, c *largemvc.Clustering) error {
	return errors.Join(embeddingFile(o.embedding).write(o.output("embedding"), c.H, in),
		writeMemberships(context.WithoutCancel(ctx), o.output("memberships"), c.Predictor, c.H, in))
}

// cancelled is the error of a run that ends before it has a result.
func cancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("cancelled; there is no result yet, and no file was written")
	}
	return err
}

// endedEarly is the error of a fit that ends before the end of its first epoch: it says what there is to go on from.
func (o *fitOptions) endedEarly(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	err = errors.New("cancelled before the first epoch; there is no result")
	switch path := o.config.Checkpoint.Path; {
	case o.resume != "":
		return fmt.Errorf("%w; continue with -resume %s again", err, o.resume)
	case path != "" && o.hasCheckpoint():
		return fmt.Errorf("%w; continue from the checkpoint with -resume %s", err, path)
	case path != "":
		return fmt.Errorf("%w, and no checkpoint of this fit in %s yet", err, path)
	}
	return err
}

// sayReading prints before the work how the data were read, and what may be wrong with them. That a log is full or gone is no
// reason not to fit.
func (o *fitOptions) sayReading(stderr io.Writer, in *input) {
	switch {
	case !o.quiet:
		_ = say(stderr, &in.reading)
	case o.json:
		warnings(stderr, &in.reading) // the summary has them
	}
}

// writeLabels writes -out.
func (o *fitOptions) writeLabels(stdout io.Writer, in *input, c *largemvc.Clustering) error {
	out := o.output("out")
	if out.path == "" {
		return nil
	}
	columns := append(labelColumns(0, o.marked(c), figure{"confidence", c.Confidence}, figure{"remoteness", c.Remoteness}),
		classColumns(c.Classes, o.classNames)...)
	if asAnnData(o.out) {
		return o.writeAnnData(out, stdout, in.ids, c.H, columns)
	}
	return out.writeTable(stdout, in.withIDs(0, columns)...)
}

// marked returns the labels, −1 for outliers if -outliers asks for it.
func (o *fitOptions) marked(c *largemvc.Clustering) []int {
	if o.outliers != "mark" {
		return c.Labels
	}
	out := slices.Clone(c.Labels)
	for i, far := range c.Outlier {
		if far {
			out[i] = -1
		}
	}
	return out
}

// unmarked is the error of -outliers mark if the fit did not look for outliers.
func (o *fitOptions) unmarked(c *largemvc.Clustering) error {
	if o.outliers != "mark" || c.Outlier != nil {
		return nil
	}
	return errors.New("-outliers mark: no label is -1, because the fit did not look for outliers: it has fewer than 24 " +
		"samples, half of them are equal to others, or the training did not finish")
}

// writeSummary prints the summary, on standard error where the labels or the model go to standard output.
func (o *fitOptions) writeSummary(stdout, stderr io.Writer, in *input, c *largemvc.Clustering, reading time.Duration) error {
	r, err := newSummary(o, in, c, reading)
	if err != nil {
		return err
	}
	if o.toStandard() {
		stdout = stderr
	}
	if o.quiet && !o.json {
		if err := say(stdout, &in.reading); err != nil {
			return err
		}
	}
	return r.print(stdout, o.json)
}

// keepFiles makes the outputs write their partial files, because the training did not finish, and prints their names.
func (o *fitOptions) keepFiles(c *largemvc.Clustering, stderr io.Writer) {
	var paths []string
	for _, out := range o.outputs {
		out.unfinished = out.partial != nil
		if out.unfinished && (out.flag != "memberships" || c.Confidence != nil) { // else there are no memberships to write
			paths = append(paths, out.partial.path)
		}
	}
	if paths != nil {
		fmt.Fprintf(stderr, "largemvc: the training did not finish: its result goes to %s; files without %s stay as they are\n",
			strings.Join(paths, ", "), partialEnding)
	}
}

// output is the file that a flag asks for, links followed.
func (o *fitOptions) output(flag string) *output {
	for _, x := range o.outputs {
		if x.flag == flag {
			return x
		}
	}
	return &output{flag: flag}
}

// toStandard says whether an output goes to standard output.
func (o *fitOptions) toStandard() bool {
	return slices.Contains([]string{o.out, o.save, o.report, o.trust, o.writeTo}, standard)
}

// looksAgain says whether the values of the data are needed after the fit.
func (o *fitOptions) looksAgain() bool { return o.report != "" || o.trust != "" || o.features > 0 }

// checkFiles refuses what would lose files, and outputs that cannot be written, before any work.
func (o *fitOptions) checkFiles(stdout io.Writer) error {
	o.outputs = []*output{{flag: "out", path: o.out}, {flag: "save", path: o.save}, {flag: "report", path: o.report},
		{flag: "embedding", path: o.embedding}, {flag: "trust", path: o.trust}, {flag: "memberships", path: o.memberships},
		{flag: "write-config", path: o.writeTo}}
	for _, out := range o.outputs {
		out.partial = &output{}
	}
	o.outputs = append(o.outputs, &output{flag: "checkpoint", path: o.config.Checkpoint.Path})
	if err := errors.Join(embeddingFile(o.embedding).check("fit"), membershipsFile(o.memberships).check("fit")); err != nil {
		return err
	}
	if o.config.Checkpoint.Path == standard {
		return usagef("fit: a checkpoint cannot be written to standard output: give -checkpoint a file")
	}
	if o.json && o.toStandard() {
		return usagef("fit: -json writes to standard output too: give -out, -save, -report, -trust and -write-config a file")
	}
	inputs := o.inputs()
	inputs["start"], inputs["known"], inputs["config"] = []string{o.startFile()}, []string{o.file()}, []string{o.flags.file}
	if err := checkOutputs("fit", stdout, o.outputs, inputs); err != nil {
		return err
	}
	if err := errors.Join(o.checkAnnOut("fit", o.out, !o.mpi), o.checkCheckpoint()); err != nil {
		return err
	}
	// A training that goes on may keep its own checkpoint.
	checkpoint := o.output("checkpoint")
	if checkpoint.stream {
		return usagef("fit: -checkpoint %s is a pipe, a device or an open file, which cannot be replaced by each new "+
			"checkpoint: give the name of a file", o.config.Checkpoint.Path)
	}
	for _, other := range []string{"out", "save", "report", "embedding", "trust", "memberships", "write-config"} {
		if err := o.output(other).checkInput("fit", "resume", o.resume); o.resume != "" && err != nil {
			return err
		}
	}
	if checkpoint.info != nil && checkpoint.info.Mode().IsRegular() && !o.overwrite {
		if resumed, err := os.Stat(o.resume); o.resume == "" || err != nil || !os.SameFile(resumed, checkpoint.info) {
			return usagef("fit: -checkpoint %s exists, and a new training would overwrite it: continue it with -resume %[1]s, "+
				"or give -overwrite",
				o.config.Checkpoint.Path)
		}
	}
	o.config.Checkpoint.Path = checkpoint.path
	return nil
}
