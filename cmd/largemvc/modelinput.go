package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/dataset"
	"github.com/largemvc/largemvc/dataset/views"
	"github.com/largemvc/largemvc/internal/progress"
)

// modelOptions holds the flags of a model and of the samples that it is given.
type modelOptions struct {
	dataOptions
	model string
	match bool
}

// modelFlags adds the flags of o.
func (o *modelOptions) modelFlags(f *flags) {
	f.group("Model")
	f.string(&o.model, "model", "`FILE` that fit -save wrote; required, so it has no default")
	o.dataFlags(f)
	f.bool(&o.match, "match-features", "put the features into the order of the model, by their names; by default another order "+
		"is an error")
}

// checkModel refuses what is wrong whatever the files hold, and outputs that would lose some.
func (o *modelOptions) checkModel(command string, stdout io.Writer, outputs ...*output) error {
	if o.model == "" {
		return usagef("%s: -model FILE is missing ('largemvc %[1]s -h' explains the flags)", command)
	}
	if err := o.check(command); err != nil {
		return err
	}
	inputs := o.inputs()
	inputs["model"] = []string{o.model}
	return checkOutputs(command, stdout, outputs, inputs)
}

// prepareBy sets what of the reading depends on how the views of the training were prepared.
func (o *modelOptions) prepareBy(by []*dataset.Preparation) {
	for _, p := range by {
		if p != nil {
			o.allowNaN = o.allowNaN || p.Fill != nil
			o.leftOut = p.LeaveOut // of all views
		}
	}
}

// readModel reads the model, and the data as the model wants them.
func (o *modelOptions) readModel(ctx context.Context, bar *progress.Bar) (*largemvc.Predictor, *input, error) {
	model, err := loadModel(o.model)
	if err != nil {
		return nil, nil, err
	}
	by, err := views.Preparations(model)
	if err != nil {
		return nil, nil, err
	}
	o.prepareBy(by)
	o.progress = readingProgress(bar, time.Now())
	set, err := o.open(ctx, bits(model.Config().Float64))
	bar.End()
	if err != nil {
		return nil, nil, cancelled(ctx, err)
	}
	if len(o.leftOut) > 0 {
		set.Reading.Notes = append(set.Reading.Notes, "the training left out "+strings.Join(o.leftOut, ", "))
	}
	if len(set.Views) == len(model.Dims()) { // else the prediction lists the views of the model
		err = matchFeatures(model, set, o.match)
	}
	if err != nil {
		return nil, nil, err
	}
	if by != nil {
		if err := set.Prepare(by); err != nil {
			return nil, nil, err
		}
	}
	in, err := newInput(set)
	if err != nil {
		return nil, nil, err
	}
	return model, in, nil
}
