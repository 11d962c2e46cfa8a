package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// measure sends requests of one sample over several connections, one after another on each, and prints how long the answers take.
func measure(ctx context.Context, w io.Writer, url string, dims []int, o options) error {
	ctx, cancel := context.WithTimeout(ctx, o.load)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	var wg sync.WaitGroup
	began := time.Now()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.clients}}
	for k := range o.clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(k)))
			for ctx.Err() == nil {
				sent := time.Now()
				err := ask(ctx, client, url, dims, rng)
				mu.Lock()
				if err == nil {
					took = append(took, time.Since(sent))
				} else if ctx.Err() == nil {
					failed = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed != nil || len(took) == 0 {
		return fmt.Errorf("%d answers, error %w", len(took), failed)
	}
	slices.Sort(took)
	at := func(q int) time.Duration { return took[len(took)*q/100].Round(10 * time.Microsecond) }
	_, err := fmt.Fprintf(w, "%d connections: %.0f requests a second; half take at most %v, 99 of 100 at most %v\n", o.clients,
		float64(len(took))/time.Since(began).Seconds(), at(50), at(99))
	return err
}

// ask sends one sample of random values.
func ask(ctx context.Context, client *http.Client, url string, dims []int, rng *rand.Rand) error {
	var sample request
	for _, d := range dims {
		values := make(row, d)
		for j := range values {
			values[j] = float32(rng.NormFloat64())
		}
		sample.Views = append(sample.Views, []row{values})
	}
	body, err := json.Marshal(sample)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/assign", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return err
}
