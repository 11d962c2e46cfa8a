package parquet

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/largemvc/largemvc/dataset"
)

// Encode writes columns of equal length, at least one, to w. Their names have no commas.
func Encode(w io.Writer, columns ...dataset.Column) error {
	var fields []reflect.StructField
	rows := -1
	for i, c := range columns {
		data := reflect.ValueOf(c.Data)
		if data.Kind() != reflect.Slice || rows >= 0 && data.Len() != rows || strings.Contains(c.Name, ",") {
			return fmt.Errorf("parquet: column %q of type %T cannot be written beside %d rows", c.Name, c.Data, rows)
		}
		rows = data.Len()
		tag := fmt.Sprintf("parquet:%q", c.Name)
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i), Type: data.Type().Elem(), Tag: reflect.StructTag(tag),
		})
	}
	record := reflect.New(reflect.StructOf(fields))
	to := parquet.NewWriter(w, parquet.SchemaOf(record.Interface()), parquet.Compression(&parquet.Zstd))
	for row := range max(rows, 0) {
		for i, c := range columns {
			record.Elem().Field(i).Set(reflect.ValueOf(c.Data).Index(row))
		}
		if err := to.Write(record.Interface()); err != nil {
			return err
		}
	}
	return to.Close()
}
