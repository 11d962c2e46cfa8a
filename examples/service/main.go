// Command service answers over HTTP which clusters new samples belong to.
//
//	go run ./examples/service -model model.safetensors   # of 'largemvc fit -save'; without it, a small model of made-up data
//	curl -d "{\"views\": [[[$(seq -s, 30)]], [[$(seq -s, 12)]]]}" http://127.0.0.1:8080/assign
//
// This sends one sample to the small model. Each view is a list of rows; its views have 30 and 12 features. A row that is null
// says that the sample lacks the view. A value that is null is an error.
//
// The service limits the size of a request and the number of requests that it works on. It does not limit the number of
// connections: put a proxy in front of it that does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/examples/synthetic"
	"github.com/largemvc/largemvc/machine"
)

type options struct {
	model, listen string
	load          time.Duration
	clients       int
}

func main() {
	var o options
	flag.StringVar(&o.model, "model", "", "`FILE` that 'largemvc fit -save' wrote; by default a small model of made-up data")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:8080", "`ADDRESS` of the service")
	flag.DurationVar(&o.load, "load", 0, "send requests to the service for this `TIME`, print how long they take, and end")
	flag.IntVar(&o.clients, "clients", 8, "`N` connections of -load")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		log.Fatal(err)
	}
}

// run serves a model until ctx ends, and then lets the requests end that have begun.
func run(ctx context.Context, w io.Writer, o options) error {
	model, err := open(ctx, o.model)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, model)
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "listening at http://%s/assign\n", listener.Addr())
	server := &http.Server{
		Handler:           newService(model.WithMachine(machine.Options{Workers: 1}), runtime.GOMAXPROCS(0)),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 60 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if o.load > 0 {
		err = measure(ctx, w, "http://"+listener.Addr().String(), model.Dims(), o)
	} else {
		select {
		case err = <-served:
		case <-ctx.Done():
		}
	}
	end, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(end))
}

// open loads a model, and without a path makes one of five clusters in two views of 30 and 12 features.
func open(ctx context.Context, path string) (*largemvc.Predictor, error) {
	if path != "" {
		return largemvc.Load(path)
	}
	x, _ := synthetic.Views(1, 600, 5, 0.7, 30, 12)
	views := []largemvc.View{largemvc.MatrixView(x[0]), largemvc.MatrixView(x[1])}
	c, err := largemvc.Fit(ctx, views, largemvc.Config{Clusters: 5})
	if err != nil {
		return nil, err
	}
	return c.Predictor, nil
}
