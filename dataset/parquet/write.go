package parquet

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/largemvc/largemvc/dataset"
)

// Encode writes columns of equal length to w, compressed by Zstandard. It returns an error for no column, a column that is no
// slice or has another length, and a name with a comma.
func Encode(w io.Writer, columns ...dataset.Column) error {
	var fields []reflect.StructField
	if len(columns) == 0 {
		return errors.New("parquet: no columns to write")
	}
	rows := 0
	for i, c := range columns {
		data := reflect.ValueOf(c.Data)
		switch {
		case data.Kind() != reflect.Slice:
			return fmt.Errorf("parquet: column %q is a %T, want a slice", c.Name, c.Data)
		case i > 0 && data.Len() != rows:
			return fmt.Errorf("parquet: column %q has %d rows, the columns before it have %d", c.Name, data.Len(), rows)
		case strings.Contains(c.Name, ","):
			return fmt.Errorf("parquet: the name of column %q has a comma", c.Name)
		}
		rows = data.Len()
		tag := fmt.Sprintf("parquet:%q", c.Name)
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: data.Type().Elem(), Tag: reflect.StructTag(tag),
		})
	}
	record := reflect.New(reflect.StructOf(fields))
	to := parquet.NewWriter(w, parquet.SchemaOf(record.Interface()), parquet.Compression(&parquet.Zstd))
	for row := range rows {
		for i, c := range columns {
			record.Elem().Field(i).Set(reflect.ValueOf(c.Data).Index(row))
		}
		if err := to.Write(record.Interface()); err != nil {
			return err
		}
	}
	return to.Close()
}
