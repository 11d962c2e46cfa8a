package saved_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/largemvc/largemvc"
	"github.com/largemvc/largemvc/saved"
)

// A program says what to do about a model that it cannot read.
func Example() {
	for _, model := range []string{model(), model()[:5000], "a letter in a file of another program"} {
		_, err := largemvc.ReadPredictor(strings.NewReader(model))
		switch {
		case err == nil:
			fmt.Println("the model is read")
		case errors.Is(err, saved.ErrNewer):
			fmt.Println("a newer release of the program has made this model")
		case errors.Is(err, saved.ErrDamaged):
			fmt.Println("the file is damaged: copy it again")
		case errors.Is(err, saved.ErrFormat):
			fmt.Println("the file is no model")
		default:
			fmt.Println("the file cannot be opened or read:", err)
		}
	}
	// Output:
	// the model is read
	// the file is damaged: copy it again
	// the file is no model
}

// model returns a saved model.
func model() string {
	x := make([]float32, 0, 3*40)
	for i := range 40 {
		x = append(x, float32(i%2)*5, float32(i%7)/10, float32(1-i%2)*5)
	}
	c, err := largemvc.Fit(context.Background(), []largemvc.View{largemvc.DenseView(40, 3, x)}, largemvc.Config{Clusters: 2})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := c.WriteTo(&file); err != nil {
		log.Fatal(err)
	}
	return file.String()
}
