// Command paper runs the experiments of the LargeMvC-Net paper with this library, on the given data sets, and writes their tables
// and figures:
//
//	go run -C studies ./paper all -quick
//	go run -C studies ./paper table -data ~/sets -out results
//
// Every experiment is one file. It lists pieces of work, runs them, and writes their results to tables and figures. The output
// folder stores finished work, of one build of the program, which is not done again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/largemvc/largemvc/studies/internal/work"
)

// experiment is one subcommand.
type experiment struct {
	name, about string
	run         func(context.Context, *study) error
}

func experiments() []experiment {
	return []experiment{
		{"table", "ACC, NMI, ARI and time of LargeMvC-Net and of other methods", table},
		{"incomplete", "ACC over missing rates", incomplete},
		{"ablation", "the network without its modules", ablation},
		{"convergence", "the loss, the objective and the noise along training", convergence},
		{"rivals", "deep methods of others, at the last epoch and at the one that labels pick", rivals},
		{"protocol", "how much of the published figures is the published protocol", protocol},
		{"pairs", "rows of other samples and absent views, with and without the trust", pairs},
		{"fresh", "new samples, with as many absent views as in the fit", fresh},
		{"trust", "how well the trust finds rows that do not belong to their sample", trusts},
		{"filter", "smoothing inside the network, with a learnable strength, beside smoothed views", filter},
		{"margin", "the clusters of the default preset and the classes, by measures without labels", margin},
		{"sensitivity", "layers, anchors and the thresholds learned", sensitivity},
	}
}

func main() { work.Main("paper", run) }

// run runs one experiment, or all.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		usage(stderr)
		if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
			return flag.ErrHelp
		}
		return errors.New("no experiment named")
	}
	chosen, err := named(args[0])
	if err != nil {
		usage(stderr)
		return err
	}
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if s.page != "" && len(chosen) == 1 {
		return errors.New("-page is for several experiments")
	}
	s.several = len(chosen) > 1
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.runAll(ctx, chosen, stdout)
}

// named returns the experiments of names, which are separated by commas, or all.
func named(names string) (chosen []experiment, err error) {
	all := experiments()
	if names == "all" {
		return all, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		k := slices.IndexFunc(all, func(e experiment) bool { return e.name == name })
		if k < 0 {
			return nil, fmt.Errorf("no experiment %q", name)
		}
		chosen = append(chosen, all[k])
	}
	return chosen, nil
}

// parse reads the flags behind the name of the experiment.
func parse(args []string, stderr io.Writer) (*study, error) {
	s := &study{stderr: stderr}
	flags := flag.NewFlagSet("paper "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	s.register(flags)
	if err := flags.Parse(args[1:]); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag", flags.Arg(0))
	}
	return s, nil
}

// runAll runs the experiments one by one, and writes the page of all if -page names one.
func (s *study) runAll(ctx context.Context, chosen []experiment, stdout io.Writer) error {
	for _, e := range chosen {
		began := time.Now()
		if err := e.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		fmt.Fprintf(stdout, "%s: %s (%s)\n", e.name, s.path(e.name+".md"), time.Since(began).Round(time.Second/10))
	}
	if s.page == "" {
		return nil
	}
	if err := s.whole(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout, s.page)
	return err
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: paper EXPERIMENT,… [flags]\n\nexperiments:\n")
	for _, e := range experiments() {
		fmt.Fprintf(w, "  %-12s %s\n", e.name, e.about)
	}
	fmt.Fprint(w, "  all          every one of them\n\nflags: paper EXPERIMENT -help\n")
}
