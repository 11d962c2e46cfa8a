// Command choose tries suggestions on sets with labels. It prints how near the suggested number of clusters, the eigengap and the
// silhouette come to the number of classes. With -starts it chooses the initial clustering of each set, and prints the change of the
// scores.
//
//	go run -C studies ./choose -data FOLDER,FOLDER [-starts]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/largemvc/largemvc/studies/internal/sets"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run tries the sets of a command line.
func run(ctx context.Context, args []string, w io.Writer) error {
	t := trial{sets: sets.Choice{Warn: os.Stderr}}
	f := flag.NewFlagSet("choose", flag.ContinueOnError)
	f.StringVar(&t.sets.Path, "data", "", "`FOLDER` of sets with labels to try; several separated by commas")
	f.StringVar(&t.sets.Only, "only", "", "`NAMES` of sets of the folder, separated by commas")
	f.IntVar(&t.rows, "rows", 1000, "`N` rows of a set at most, drawn at random")
	f.Float64Var(&t.share, "share", 0.9, "`PART` of the rows of a set that is drawn at most")
	draws := f.String("draws", "0,1,2", "`NUMBERS` of the draws of rows, separated by commas")
	starts := f.Bool("starts", false, "choose the initial clustering of whole sets in place of a number of clusters")
	if err := f.Parse(args); err != nil {
		return err
	}
	for text := range strings.SplitSeq(*draws, ",") {
		draw, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return fmt.Errorf("-draws: %w", err)
		}
		t.draws = append(t.draws, int(draw))
	}
	if *starts {
		return t.tryStarts(ctx, w)
	}
	return t.try(ctx, w)
}
