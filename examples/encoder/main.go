// Command encoder puts a network before the network: every view of some handwritten digits goes through a linear encoder and a
// tanh, whose weights are trained with the clustering, end to end. A decoder in the loss keeps the codes telling about the views.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/digits"
)

func main() {
	n := flag.Int("n", 1000, "number of digits")
	epochs := flag.Int("epochs", 40, "steps of the optimiser")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *n, *epochs); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, n, epochs int) error {
	set, err := digits.Open(ctx, "", n, 0)
	if err != nil {
		return err
	}
	views := set.Views(0, n)
	stock := largemvc.Config{Clusters: 10, Epochs: epochs}
	own := stock
	own.Represent, own.ExtraLoss = &encoder{Columns: 32}, decoded
	var accuracy []float64
	for _, c := range []struct {
		name   string
		config largemvc.Config
	}{{"without encoder", stock}, {"with encoder", own}} {
		m, err := c.config.EstimateMemory(views)
		if err != nil {
			return err
		}
		fitted, err := largemvc.Fit(ctx, views, c.config)
		if err != nil {
			return err
		}
		s, err := largemvc.Evaluate(set.Labels, fitted.Labels)
		if err != nil {
			return err
		}
		accuracy = append(accuracy, 100*s.ACC)
		_, columns := fitted.P[0].Dims()
		first, last := fitted.Loss[0], fitted.Loss[len(fitted.Loss)-1]
		if _, err := fmt.Fprintf(w, "%-16s loss %.4f → %.4f, anchors of %d columns, %v, %.0f ms an epoch\n  memory %v\n",
			c.name+":", first, last, columns, s, 1000*fitted.Timings.Epoch.Seconds(), m); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "The encoder is trained with the clustering, and its codes take the place of the views.\n"+
		"ACC changes by %+.1f points, and an epoch takes longer: these digits need no encoder.\n"+
		"Use one for views that are not features yet, with a loss that suits them.\n", accuracy[1]-accuracy[0])
	return err
}
